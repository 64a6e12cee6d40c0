const http = require('http');
if (require('greeter') !== process.env.GREETING) process.exit(3);
const values = new Map();
http.createServer((req, res) => {
  if (req.method === 'PUT') {
    const parts = [];
    req.on('data', (d) => parts.push(d));
    req.on('end', () => { values.set(req.url, Buffer.concat(parts)); res.end(); });
    return;
  }
  const value = values.get(req.url);
  res.statusCode = value === undefined ? 404 : 200;
  res.end(value);
}).listen(8000);
