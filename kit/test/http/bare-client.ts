/** A client that sends what a test gives it, byte by byte, and collects all it receives. */
import { connect, type Socket } from 'node:net'

export interface BareClient {
  bare: Socket
  /** Everything it received, once the connection has ended in any way. */
  heard: Promise<string>
  /** Everything it received, once the first JSON object of a reply is complete. */
  answered: Promise<string>
  /** Writes single bytes until something is received. */
  drip(everyMs: number): void
}

export function bareClient(port: number): BareClient {
  const bare = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const heard = Promise.withResolvers<string>()
  const answered = Promise.withResolvers<string>()
  let said = ''
  let dripping: NodeJS.Timeout | undefined
  // A server that has answered and closed resets a client that goes on writing; its earlier reply is what matters.
  bare.on('error', () => {})
  bare.setEncoding('latin1').on('data', (data) => {
    said += data
    clearInterval(dripping)
    if (said.includes('}')) answered.resolve(said)
  })
  bare.on('end', () => bare.end())
  bare.on('close', () => {
    clearInterval(dripping)
    heard.resolve(said)
    answered.resolve(said)
  })
  return {
    bare,
    heard: heard.promise,
    answered: answered.promise,
    drip(everyMs) {
      // After the reads of this round: a byte answered by a reset would end the connection before the reply was read.
      dripping = setInterval(() => setImmediate(() => said === '' && bare.write('x')), everyMs)
    },
  }
}
