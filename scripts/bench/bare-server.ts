/**
 * The controller's baseline, as a process: bare node:http. `/api/health` answers as the controller does; `/zones`
 * returns a thousand rows the plain way, with `.all()` and JSON.stringify.
 *
 *     node scripts/bench/bare-server.ts DATABASE
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

const [, , file = ''] = process.argv
const zones = new DatabaseSync(file, { readOnly: true }).prepare('SELECT * FROM zone ORDER BY id LIMIT 1000')
const server = createServer((request, response) => {
  const text = request.url === '/zones' ? JSON.stringify(zones.all()) : '{"ok":true}'
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) }
  response.writeHead(200, headers).end(text)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`listening url=http://127.0.0.1:${port}`)
})
