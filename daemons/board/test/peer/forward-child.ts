/**
 * Passes what comes by a Unix socket to a TCP port: those of a network namespace are within reach of all then.
 *
 *     forward-child.ts SOCKET PORT
 */
import { connect, createServer } from 'node:net'

const [, , path, port] = process.argv
const server = createServer((near) => {
  const far = connect(Number(port), '127.0.0.1')
  near.on('error', () => far.destroy())
  far.on('error', () => near.destroy())
  near.pipe(far).pipe(near)
})
server.listen(path, () => process.stdout.write('ready\n'))
