import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { worstClick } from './clicks.ts'
import { compare, createComparing } from './compare.ts'
import { both, burstLoss, chances, duplicates, jitter, randomLoss, reordering } from './faults.ts'
import { countedPattern, patternFrames, sinePattern } from './pattern.ts'
import { openRtp, rtpBytes } from './rtp.ts'
import { startReceiver } from './rtp-receiver.ts'
import { startSender } from './rtp-sender.ts'
import { channelOf, fitTone } from './tone.ts'
import { readWav, writeWav } from './wav.ts'

t.test('a sample of the counted pattern gives its frame, in every channel and at both widths', async (t) => {
  for (const bits of [16, 24] as const) {
    const pattern = countedPattern(bits, 8)
    const frames = [0, 1, 2, 47, 48, 65_535, 40_000, ...(bits === 24 ? [65_536, 16_777_215, 9_999_999] : [])]
    for (const frame of frames)
      for (let channel = 0; channel < 8; channel += 1) {
        const sample = pattern.sample(frame, channel)
        t.ok(sample >= -(2 ** (bits - 1)) && sample < 2 ** (bits - 1))
        t.equal(pattern.frameOf(sample, channel), frame)
      }
  }
})

t.test('the comparison finds equal, silent and wrong samples, and jumps', async (t) => {
  const pattern = countedPattern(24, 2)
  const played = patternFrames(pattern, 1000, 5000)
  const recorded = Int32Array.from([...new Int32Array(200), ...played, ...new Int32Array(50)])
  t.same(compare(recorded, pattern), {
    frames: 5000,
    equal: 5000,
    silent: 0,
    wrong: 0,
    jumps: [],
    begin: { recorded: 100, pattern: 1000 },
    end: 5100,
  })
  const hurt = Int32Array.from(recorded)
  hurt.fill(0, 2 * 500, 2 * 548)
  hurt[2 * 1000] = (hurt[2 * 1000] ?? 0) + 1
  t.match(compare(hurt, pattern), { frames: 5000, equal: 4951, silent: 48, wrong: 1, jumps: { length: 0 } })
  const cut = Int32Array.from([...played.subarray(0, 2000), ...played.subarray(2096), ...played.subarray(9000)])
  t.match(compare(cut, pattern), {
    jumps: [
      { at: 1000, skipped: 48 },
      { at: 4952, skipped: -500 },
    ],
    wrong: 0,
    silent: 0,
  })
  t.match(compare(new Int32Array(1000), pattern), { frames: 0, equal: 0, begin: null })
  t.match(
    compare(
      Int32Array.from(played, () => 77),
      pattern,
    ),
    { equal: 0, begin: null },
    'noise is not a pattern',
  )
})

t.test('a recording in pieces is compared as if it came whole', async (t) => {
  const pattern = countedPattern(16, 2)
  const recorded = patternFrames(pattern, 7, 3000)
  recorded.fill(0, 2 * 1000, 2 * 1100)
  const comparing = createComparing(pattern)
  for (let from = 0; from < recorded.length; from += 2 * 7) comparing.take(recorded.subarray(from, from + 2 * 7))
  t.same(comparing.end(), compare(recorded, pattern))
  t.match(compare(recorded, pattern), { equal: 2900, silent: 100 })
})

t.test('a pattern that begins again after its period is one sound without a jump', async (t) => {
  const pattern = countedPattern(24, 1, 65_536)
  t.match(compare(patternFrames(pattern, 60_000, 20_000), pattern), { equal: 20_000, jumps: { length: 0 }, wrong: 0 })
  const short = Int32Array.from([...patternFrames(pattern, 65_000, 530), ...patternFrames(pattern, 0, 1000)])
  t.match(compare(short, pattern), { jumps: [{ at: 530, skipped: 6 }] }, 'and missing samples at the seam are found')
})

t.test('WAV files are read as they were written, also if the header has no length', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sound-tools-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const bits of [16, 24] as const) {
    const pattern = countedPattern(bits, 3)
    const path = join(folder, `${bits}.wav`)
    writeWav(path, { channels: 3, bits, frames: 70_000 }, pattern.sample)
    const { samples, ...format } = readWav(path)
    t.same(format, { rate: 48_000, channels: 3, bits })
    t.match(compare(samples, pattern), { equal: 70_000, wrong: 0, jumps: { length: 0 } })
  }
})

t.test('the tone meter reads the distortion of a sine by rounding alone', async (t) => {
  for (const [bits, wantedDb] of [
    [16, -98.1],
    [24, -146.2],
  ] as const) {
    const { sample } = sinePattern(bits, 1, 997, 0.999)
    const samples = Int32Array.from({ length: 48_000 }, (_, at) => sample(at, 0))
    const fit = fitTone(samples, bits, 997)
    t.ok(Math.abs(fit.thdNoiseDb - wantedDb) < 0.5, `${bits} bits: ${fit.thdNoiseDb} dB`)
    t.ok(Math.abs(fit.level - 0.999) < 1e-4)
    samples.copyWithin(20_000, 20_001)
    t.ok(fitTone(samples, bits, 997).thdNoiseDb > -30, 'one missing frame is detected')
  }
})

t.test('the click finder detects a step and ignores a slow fade', async (t) => {
  const { sample } = sinePattern(24, 1, 997, 0.5)
  const steady = Int32Array.from({ length: 9600 }, (_, at) => sample(at, 0))
  t.ok(worstClick(steady, 24, 997).db < -100, `steady: ${worstClick(steady, 24, 997).db} dB`)
  const ramp = steady.map((value, at) => Math.round(value * Math.min(1, Math.max(0.1, (at - 4000) / 960))))
  t.ok(worstClick(ramp, 24, 997).db < -60, `faded over 20 ms: ${worstClick(ramp, 24, 997).db} dB`)
  const step = steady.map((value, at) => (at < 4012 ? value : Math.round(value * 0.1)))
  const click = worstClick(step, 24, 997)
  t.ok(click.db > -45, `a step: ${click.db} dB`)
  t.ok(click.frame > 3450 && click.frame <= 4012)
})

t.test('a channel is extracted from interleaved samples', async (t) => {
  t.same([...channelOf(Int32Array.of(1, 2, 3, 4, 5, 6), 2, 1)], [2, 4, 6])
  t.same([...channelOf(Int32Array.of(1, 2, 3, 4, 5, 6), 2, 0, [1, 2])], [3])
})

t.test('faults are the same for the same seed, and do what their names say', async (t) => {
  const counts = (fault: (packet: number) => number[]) => Array.from({ length: 10_000 }, (_, at) => fault(at))
  const lost = counts(randomLoss(0.01, 7)).filter(({ length }) => length === 0).length
  t.ok(lost > 70 && lost < 130, `${lost} of 10,000`)
  t.same(counts(randomLoss(0.01, 7)), counts(randomLoss(0.01, 7)))
  t.same(
    counts(burstLoss(3, 2, 1000))
      .flatMap((times, at) => (times.length === 0 ? [at] : []))
      .slice(0, 4),
    [3, 4, 1003, 1004],
  )
  t.same(duplicates(5, 2)(10), [0, 2])
  t.same(reordering(5, 2)(10), [2])
  t.ok(counts(jitter(5, 1)).every(([ms = -1]) => ms >= 0 && ms < 5))
  t.same(both(duplicates(1, 1), burstLoss(2, 1))(2), [])
  t.ok(chances(1)() !== chances(2)())
})

t.test('RFC 3550 5.1 RTP is decoded as it was built, and refused if it is not RTP', async (t) => {
  const packet = {
    payloadType: 97,
    marker: true,
    sequence: 65_535,
    timestamp: 0xffff_fff0,
    ssrc: 0x8000_0001,
    samples: Int32Array.of(-1, 8_388_607, -8_388_608),
  }
  t.same(openRtp(rtpBytes(packet, 'L24'), 'L24'), packet)
  t.equal(rtpBytes(packet, 'L24').toString('hex'), `80e1fffffffffff080000001${'ffffff7fffff800000'}`)
  for (const hex of ['', '80', '40'.padEnd(24, '0'), '90'.padEnd(24, '0'), `${'80'.padEnd(24, '0')}00`])
    t.throws(() => openRtp(Buffer.from(hex, 'hex'), 'L24'))
})

t.test('the receiver hears what the sender sends, and only deliberate losses are missing', async (t) => {
  const [group, port] = ['239.192.77.1', 25_004]
  const heard = await startReceiver(t, { group, port, encoding: 'L16' })
  const pattern = countedPattern(16, 2)
  const options = { encoding: 'L16', channels: 2, sample: pattern.sample, sequence: 65_530 } as const
  const sender = await startSender(t, { ...options, to: [{ group, port, fault: burstLoss(20, 2) }] })
  await sender.after(50)
  await heard.heard(48)
  await sender.stop()
  t.same(heard.malformed, [])
  const found = compare(heard.samples(2), pattern)
  t.match(found, { silent: 96, wrong: 0, jumps: { length: 0 }, begin: { pattern: 0 } })
  t.equal(heard.packets[10]?.sequence, 4, 'the sequence wraps around')
  t.equal(heard.packets[0]?.timestamp, sender.timestamp)
})
