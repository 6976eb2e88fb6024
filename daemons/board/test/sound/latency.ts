/** End-to-end latency: a single sample on the wire, and the instant at which it comes out of a decoder. */
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
/** An impulse each 50 ms, told apart by its value; after two seconds they restart. */
const EVERY = RATE / 20
const KINDS = 40
const STEP = 100_000
/** What a route needs before it plays: joining, fading in. */
const SETTLED_MS = 1000

/** Until dumpcap has taken what was on the wire. */
const WRITTEN_MS = 500
/** Values come again after two seconds: what seems to take longer was sent before it was captured. */
const MOST_MS = 1000

/** Of one link offset. */
export interface Latency {
  linkMs: number
  /** In ms, sorted, one for each impulse. */
  all: number[]
  median: number
}

/**
 * Measures at each link offset in turn, with one encoder and one decoder on loopback without PTP. From the instant the
 * kernel stamps on the packet, plus the impulse's place in it, to the instant a block is read, plus its place in that.
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

/** Where there is sound in packets: the instant is that of the sample, not of the packet. */
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

/** Each that was heard, with the last one sent before it that has its value. */
function latencies(sent: readonly Impulse[], heard: readonly Impulse[]): number[] {
  return heard.flatMap(({ value, atMs }) => {
    const one = sent.findLast((each) => each.value === value && each.atMs < atMs)
    return one === undefined || atMs - one.atMs > MOST_MS ? [] : [atMs - one.atMs]
  })
}
