/** A client that says what a test gives it, byte by byte, and hears everything that is said to it. */
import { connect, type Socket } from 'node:net'

export interface BareClient {
  bare: Socket
  /** Everything it heard, when the connection has ended, however that was. */
  heard: Promise<string>
  /** What it has heard when the first JSON object of a reply is whole. */
  answered: Promise<string>
  /** Writes one byte again and again until something is heard. */
  drip(everyMs: number): void
}

export function bareClient(port: number): BareClient {
  const bare = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const heard = Promise.withResolvers<string>()
  const answered = Promise.withResolvers<string>()
  let said = ''
  let dripping: NodeJS.Timeout | undefined
  // A server that has answered and left resets who goes on writing; what it said before is what counts.
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
      // Behind the reads of this round: a byte that meets a reset would end the connection before the reply was read.
      dripping = setInterval(() => setImmediate(() => said === '' && bare.write('x')), everyMs)
    },
  }
}
