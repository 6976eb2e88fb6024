/** Asks a device for the description of one of its sessions, over RTSP. */
import { connect, type Socket } from 'node:net'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { cutRtsp, type RtspReply, replyOf, writeRequest } from '../../wire/streams/rtsp-message.ts'
import { LONGEST_SDP } from '../../wire/streams/sdp-sections.ts'

/** Who is asked for what. */
export interface DescribeRequest {
  clock: Clock
  /** IPv4 */
  address: string
  port: number
  /** Of the session, percent-encoded. */
  path: string
  /** For all of it. */
  timeoutMs: number
}

const BOUNDS = { headBytes: 4096, bodyBytes: LONGEST_SDP * 4 }

/**
 * One connection, one request, one answer. Redirections are not followed: whoever answers for itself needs none, and
 * whoever does not could have us ask others.
 * @returns the description as it came
 * @throws Fault `rtsp_unanswered`, `rtsp_refused`, `rtsp_malformed`, `rtsp_too_long`
 * @source RFC 2326, 10.2
 */
export async function describeOverRtsp(request: DescribeRequest): Promise<string> {
  const { address, clock, path, port, timeoutMs } = request
  const socket = connect({ host: address, port, noDelay: true })
  const timer = clock.after(timeoutMs, () => socket.destroy())
  try {
    const url = `rtsp://${address}:${port}${path}`
    const headers = { CSeq: '1', Accept: 'application/sdp', 'User-Agent': 'Plantroom' }
    socket.write(writeRequest('DESCRIBE', url, headers))
    const { body, headers: answered, status } = await replyFrom(socket, `${address}:${port}`)
    if (status !== 200) throw new Fault('rtsp_refused', `${address}:${port} answers ${status}, not 200`)
    if (!/^application\/sdp\b/i.test(answered.get('content-type') ?? 'application/sdp'))
      throw new Fault('rtsp_refused', `${address}:${port} answers with something else than SDP`)
    // Nobody could read it, and it would be kept.
    if (body.length > LONGEST_SDP)
      throw new Fault('rtsp_too_long', `a description of ${body.length} characters is longer than ${LONGEST_SDP}`)
    return body
  } finally {
    timer.cancel()
    socket.destroy()
  }
}

async function replyFrom(socket: Socket, who: string): Promise<RtspReply> {
  let pending: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  try {
    for await (const bytes of socket) {
      pending = Buffer.concat([pending, bytes])
      const cut = cutRtsp(pending, BOUNDS)
      if (cut) return replyOf(cut.message)
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('rtsp_unanswered', `${who} cannot be asked over RTSP`, { cause: error })
  }
  throw new Fault('rtsp_unanswered', `${who} gave no whole answer over RTSP in time`)
}
