// A store of values by key over HTTP, which keeps them in Redis. It speaks Redis' protocol itself, so it needs no packages.
const http = require("node:http");
const net = require("node:net");

// ask sends one command on a connection of its own and resolves to the reply: a string, null, or an error.
function ask(...words) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(6379, "redis");
    let text = "";
    socket.setTimeout(500, () => socket.destroy(new Error("no answer from redis")));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("redis closed the connection")));
    socket.on("data", (data) => {
      text += data;
      const end = text.indexOf("\r\n");
      if (end < 0) return;
      const head = text.slice(0, end);
      if (head[0] === "-") reject(new Error(head));
      else if (head[0] === "+" || head[0] === ":") resolve(head.slice(1));
      else if (head === "$-1") resolve(null);
      else if (text.length >= end + 4 + Number(head.slice(1))) resolve(text.slice(end + 2, -2));
      else return;
      socket.end();
    });
    socket.write(`*${words.length}\r\n` + words.map((w) => `$${Buffer.byteLength(w)}\r\n${w}\r\n`).join(""));
  });
}

async function answer(request, response) {
  const key = request.url.slice("/kv/".length);
  if (request.method === "PUT") {
    let body = "";
    for await (const part of request) body += part;
    await ask("SET", key, body);
    response.writeHead(204).end();
    return;
  }
  const value = await ask("GET", key);
  response.writeHead(value === null ? 404 : 200, { "Content-Length": Buffer.byteLength(value ?? "") }).end(value ?? "");
}

http
  .createServer((request, response) => {
    answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  })
  .listen(8080, () => console.log("ready"));
