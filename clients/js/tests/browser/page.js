// A page of an application, with the published client.

import { Carillon } from "/client.js";

const url = new URLSearchParams(location.search).get("url");

async function tokens() {
  const response = await fetch("/tokens");
  return response.ok ? response.json() : null;
}

window.received = [];
window.states = [];
window.problems = [];
window.ticks = 0;

window.subscribe = (event, options) => {
  const subscription = window.carillon.subscribe(event, options);
  subscription.on("notification", (data) => window.received.push(data));
  subscription.on("gap", (reason) => window.received.push(`gap ${reason}`));
  return new Promise((resolve, reject) => {
    subscription.on("registered", resolve);
    subscription.on("refused", reject);
  });
};

window.carillon = new Carillon(url, { tokens });
window.carillon.on("state", (state) => window.states.push(state));
window.carillon.on("problem", ({ code }) => window.problems.push(code));
setInterval(() => window.ticks++, 100);
window.isReady = true;
