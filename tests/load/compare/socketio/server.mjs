// A Socket.IO server as its documentation shows it, for the comparison: a client joins a room, and POST /emit/ROOM
// delivers to the room. No tokens, no conditions, WebSocket only, no compression. With a second argument it uses the
// Redis adapter.
//
//     node server.mjs PORT [redis://HOST:PORT]
import { createServer } from "node:http";
import { Server } from "socket.io";

const [port, redisUrl] = process.argv.slice(2);
const web = createServer();
const io = new Server(web, { transports: ["websocket"], perMessageDeflate: false, serveClient: false });

if (redisUrl) {
  const { createClient } = await import("redis");
  const { createAdapter } = await import("@socket.io/redis-adapter");
  const publisher = createClient({ url: redisUrl });
  const subscriber = publisher.duplicate();
  await Promise.all([publisher.connect(), subscriber.connect()]);
  io.adapter(createAdapter(publisher, subscriber));
}

io.on("connection", (socket) => {
  socket.on("join", async (room, joined) => {
    await socket.join(room);
    joined();
  });
});

web.on("request", (request, response) => {
  const room = /^\/emit\/([^/?]+)$/.exec(request.url)?.[1];
  if (request.method !== "POST" || !room) return;
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    io.to(room).emit("notice", JSON.parse(body));
    response.writeHead(200, { "Content-Length": 2 }).end("ok");
  });
});

web.listen({ port: Number(port), host: "127.0.0.1", backlog: 4096 });
