/** A capture the page takes itself: bytes of the gateway's stream, kept until they are saved. */
import { type Signal, signal } from '@preact/signals'
import { sentenceOf } from '#kit/web/call.ts'
import { token } from '#kit/web/session.ts'
import { portRoute } from './api.ts'

/** What the page keeps at most; an hour of a busy 115200 line. A longer capture is for Wireshark itself. */
export const CAPTURE_BYTES = 64_000_000
/** The file header: a capture without a frame is no longer than this. */
const HEADER_BYTES = 24

/** A running capture. */
export interface Capture {
  readonly sizeBytes: Signal<number>
  /** Why it ended by itself; null while it runs, and after a stop by hand. */
  readonly ended: Signal<string | null>
  readonly startedAt: number
  /** True once a frame is in it. */
  hasFrames(): boolean
  /** Ends it. @returns what was caught */
  stop(): Uint8Array<ArrayBuffer>[]
}

/** Where the stream comes from; the browser's own fetch outside tests. */
export type Fetch = (path: string, init: RequestInit) => Promise<Response>

/** Begins to catch the frames of a line. @param atMs now, the browser's epoch ms */
export function startCapture(path: string, atMs: number, from: Fetch = (at, init) => fetch(at, init)): Capture {
  const leave = new AbortController()
  const parts: Uint8Array<ArrayBuffer>[] = []
  const sizeBytes = signal(0)
  const ended = signal<string | null>(null)
  let isStopped = false

  async function run(): Promise<void> {
    const headers: Record<string, string> = token.value ? { authorization: `Bearer ${token.value}` } : {}
    const response = await from(portRoute(path, '/capture.pcap'), { headers, signal: leave.signal })
    if (!response.ok || !response.body) throw new Error(await refusalOf(response))
    const reader = response.body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw new Error('The gateway ended the capture. What came until then can be saved.')
      if (sizeBytes.value + value.length > CAPTURE_BYTES)
        throw new Error('The capture has grown to its limit. Save it; a longer one goes to Wireshark directly.')
      parts.push(value)
      sizeBytes.value += value.length
    }
  }

  run().catch((thrown: unknown) => {
    if (!isStopped) ended.value = sentenceOf(thrown)
    leave.abort()
  })
  return {
    sizeBytes,
    ended,
    startedAt: atMs,
    hasFrames: () => sizeBytes.value > HEADER_BYTES,
    stop() {
      isStopped = true
      leave.abort()
      return parts
    },
  }
}

async function refusalOf(response: Response): Promise<string> {
  try {
    return ((await response.json()) as { message: string }).message
  } catch {
    return `The gateway answered ${response.status} without a reason.`
  }
}

/** `meters-2031-03-09-140231.pcap`. @param date `2031-03-09` @param time `14:02:31` */
export function captureName(name: string, date: string, time: string): string {
  return `${name.replaceAll(/[^\w-]+/g, '-')}-${date}-${time.replaceAll(':', '')}.pcap`
}

/** What shows the frames in Wireshark as they come. KEY is an API key. */
export function liveCommand(origin: string, path: string): string {
  return `curl -sN -H 'Authorization: Bearer KEY' '${origin}${portRoute(path, '/capture.pcap')}' | wireshark -k -i -`
}
