// The browser's WebSocket with every frame logged. The client uses it in place of the plain one.

import { logFrame } from "./log.js";

const withoutToken = (protocol) => protocol.replace(/^(api|user)\..*/, "$1.…");

export class LoggedSocket extends WebSocket {
  constructor(address, protocols) {
    super(address, protocols);
    logFrame("out", `WebSocket ${address}, subprotocols: ${protocols.map(withoutToken).join(", ")}`);
    this.addEventListener("message", ({ data }) => logFrame("in", data));
    this.addEventListener("close", ({ code, reason }) => logFrame("in", `close ${code}${reason && `: ${reason}`}`));
  }

  send(text) {
    logFrame("out", text);
    super.send(text);
  }

  close(code) {
    if (this.readyState < WebSocket.CLOSING) logFrame("out", `close ${code ?? ""}`);
    super.close(code);
  }
}
