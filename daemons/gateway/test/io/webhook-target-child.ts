/**
 * A webhook target in its own process, which takes requests and never answers. Arguments: key file and certificate
 * file.
 */
import { readFileSync } from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'

const [key = '', cert = ''] = process.argv.slice(2).map((file) => readFileSync(file, 'utf8'))
let taken = 0
const server = https.createServer({ key, cert }, (incoming) => {
  incoming.resume().on('end', () => process.stdout.write(`taken ${++taken}\n`))
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`))
