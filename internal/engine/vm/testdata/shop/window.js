// Passes requests on to the store, and its answers back.
const fs = require('fs')
const http = require('http')

const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })

http.createServer((request, response) => {
  const onward = http.request(process.env.STORE + request.url, { agent, method: request.method, headers: request.headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', (e) => {
    console.log(`${request.method} ${request.url}: ${e.message}`)
    response.writeHead(502).end()
  })
  request.pipe(onward)
}).listen(80, () => {
  fs.writeFileSync('/tmp/ready', '')
  console.log('the window is open')
})
