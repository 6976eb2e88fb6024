/** End-to-end latency: from a single sample on the wire to its output by a decoder. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Owner } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { startAudio, startEncoder } from './audio-board.ts'
import { startCapture } from './capture.ts'
import { startPeer } from './other-programs.ts'
import { writeWav } from './wav.ts'

const RATE = 48_000
const STREAM = { mcast: '239.192.73.1', port: 25_404 }
/** An impulse every 50 ms, identified by its value; values repeat after two seconds. */
const EVERY = RATE / 20
const KINDS = 40
const STEP = 100_000
/** Time a route needs before it plays: joining, fading in. */
const SETTLED_MS = 1000

/** Time until dumpcap has written the last packets. */
const WRITTEN_MS = 500
/** Values repeat after two seconds: what seems to take longer was sent before the capture. */
const MOST_MS = 1000

/** Results for one link offset. */
export interface Latency {
  linkMs: number
  /** In ms, sorted, one per impulse. */
  all: number[]
  median: number
}

/**
 * Measures at each link offset in turn, with one encoder and one decoder on loopback without PTP: from the packet's
 * kernel timestamp plus the impulse's place in the packet, to the time a block is read plus the impulse's place in
 * that.
 */
export async function measureLatency(t: Owner, links: readonly number[], impulses: number): Promise<Latency[]> {
  const folder = mkdtempSync(join(tmpdir(), 'latency-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'impulses.wav')
  const valueAt = (frame: number) => (frame % EVERY === 0 ? STEP * (1 + frame / EVERY) : 0)
  writeWav(path, { channels: 1, bits: 24, frames: KINDS * EVERY }, valueAt)
  const pipe = join(folder, 'played.wav')
  execFileSync('mkfifo', [pipe])
  const watch = startPeer(t, ['python3', join(import.meta.dirname, 'impulse-watch.py'), pipe])
  const [decoder] = await Promise.all([
    startAudio(t, {
      settings: { role: 'decoder', channels: 1, mcast: '' },
      sets: ['board.role=decoder', `audio.sink=${JSON.stringify(`file:${pipe}`)}`],
    }),
    startEncoder(t, `file:${path}`, { settings: { ...STREAM, channels: 1 } }),
  ])
  const found: Latency[] = []
  for (const linkMs of links) {
    const form = { mcast: STREAM.mcast, port: String(STREAM.port), link_ms: String(linkMs) }
    const { status, body } = await decoder.post('/api/route', form)
    if (status !== 200) throw new Error(`the route was answered ${status}: ${JSON.stringify(body)}`)
    await sleep(SETTLED_MS)
    const capture = await startCapture(t, join(folder, `wire-${linkMs}.pcapng`), `udp port ${STREAM.port}`)
    const begin = heardOf(watch.said()).length
    const wanted = begin + impulses
    await until(`${impulses} impulses`, () => heardOf(watch.said()).length >= wanted, impulses * 150 + 10_000)
    await sleep(WRITTEN_MS)
    await capture.stop()
    const rows = await capture.rows('rtp', ['frame.time_epoch', 'rtp.payload'], [STREAM.port])
    const all = latencies(sentOf(rows), heardOf(watch.said()).slice(begin)).sort((one, other) => one - other)
    found.push({ linkMs, all, median: all[Math.floor(all.length / 2)] ?? Number.NaN })
  }
  return found
}

interface Impulse {
  value: number
  atMs: number
}

/** Impulses found in packets, with the instant of the sample rather than of its packet. */
function sentOf(rows: readonly (readonly string[])[]): Impulse[] {
  return rows.flatMap(([instant = '', hex = '']) => {
    const bytes = Buffer.from(hex.replaceAll(':', ''), 'hex')
    const found: Impulse[] = []
    for (let at = 0; at + 3 <= bytes.length; at += 3) {
      const value = bytes.readIntBE(at, 3)
      if (value !== 0) found.push({ value, atMs: Number(instant) * 1000 + (at / 3 / RATE) * 1000 })
    }
    return found
  })
}

function heardOf(said: string): Impulse[] {
  return [...said.matchAll(/^(-?\d+) (-?\d+) (\d+)$/gm)].map(([, value, frame, ns]) => ({
    value: Number(value),
    atMs: Number(ns) / 1e6 + (Number(frame) / RATE) * 1000,
  }))
}

/** Pairs each received impulse with the latest earlier one of the same value. */
function latencies(sent: readonly Impulse[], heard: readonly Impulse[]): number[] {
  return heard.flatMap(({ value, atMs }) => {
    const one = sent.findLast((each) => each.value === value && each.atMs < atMs)
    return one === undefined || atMs - one.atMs > MOST_MS ? [] : [atMs - one.atMs]
  })
}
