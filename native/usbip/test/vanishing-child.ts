/**
 * Listens on one end of a cable, accepts one connection and waits for its end. A separate program, so that it can run
 * in a namespace: what it still sends to the vanished peer then has no other way out of the machine.
 *
 *     node vanishing-child.ts ADDRESS INTERFACE PATIENCE [TEXT]
 *
 * Prints its port, pulls INTERFACE once somebody has connected, and prints how the connection ended as JSON. TEXT is
 * written after the pull.
 */
import { execFileSync } from 'node:child_process'
import { setPatience, type TcpConnection, TcpListener } from '../index.ts'

const [address = '', cable = '', patience = '', text] = process.argv.slice(2)
const arrived = Promise.withResolvers<TcpConnection>()
const handlers = { onConnection: arrived.resolve, onFailed: arrived.reject }
const listener = new TcpListener(address, { port: 0, backlog: 8 }, handlers)
console.log(listener.port)
const connection = await arrived.promise
setPatience(connection.fd, JSON.parse(patience))
const beganMs = performance.now()
const ended = new Promise<void>((resolve) => connection.onceEnded(resolve))
execFileSync('ip', ['link', 'set', cable, 'down'], { stdio: 'pipe' })
if (text !== undefined) connection.write(Buffer.from(text))
await ended
const tookMs = performance.now() - beganMs
console.log(JSON.stringify({ tookMs, isEstablished: connection.counts().isEstablished }))
connection.close()
listener.close()
