import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import type { RtpPacket } from '../../wire/rtp.ts'
import { readSdp } from '../../wire/sdp.ts'
import { createSoundReader, isSameSound, type SoundFormat, type SoundFrame, soundOf } from '../../wire/sound.ts'

const offered = (...lines: string[]) => {
  const [media] = readSdp(['v=0', ...lines].join('\r\n')).media
  return media && soundOf(media)
}
const aac = (config: string, rate = '16000/1', more = 'mode=AAC-hbr;sizelength=13;indexlength=3') =>
  offered('m=audio 0 RTP/AVP 97', `a=rtpmap:97 mpeg4-generic/${rate}`, `a=fmtp:97 ${more};config=${config}`)

t.test('AAC and G.711 are taken as they are offered, by name or by their fixed numbers', async (t) => {
  t.match(aac('1408'), { entry: 'mp4a', codec: 'mp4a.40.2', rate: 16_000, channels: 1, frameTicks: 1024 })
  t.match(aac('1210', '44100/2'), { rate: 44_100, channels: 2 })
  t.match(aac('2B8A0800', '44100/2'), { codec: 'mp4a.40.5', frameTicks: 2048 }, 'with its higher tones told apart')
  const alaw = { entry: 'alaw', rate: 8000, channels: 1, frameTicks: 0 }
  t.match(offered('m=audio 0 RTP/AVP 8'), alaw)
  t.match(offered('m=audio 0 RTP/AVP 98', 'a=rtpmap:98 PCMA/8000'), alaw)
  t.match(offered('m=audio 0 RTP/AVP 0'), { entry: 'ulaw' })
  t.match(offered('m=audio 0 RTP/AVP 98', 'a=rtpmap:98 PCMU/16000/1'), { entry: 'ulaw', rate: 16_000 })
})

t.test('what players do not take is left out', async (t) => {
  for (const sound of [
    offered('m=audio 0 RTP/AVP 96', 'a=rtpmap:96 G726-32/8000'),
    offered('m=audio 0 RTP/AVP 96', 'a=rtpmap:96 PCMA/8000/2'),
    offered('m=audio 0 RTP/AVP 96', 'a=rtpmap:96 PCMA/4'),
    offered('m=video 0 RTP/AVP 8'),
    aac('0808'), // Main profile
    aac('1480'), // no channels
    aac('14'),
    aac('xyz1'),
    aac('1408', '16000/1', 'mode=AAC-lbr;sizelength=6;indexlength=2'),
    aac('1408', '16000/1', 'mode=AAC-hbr;sizelength=16'),
  ])
    t.equal(sound, undefined)
  t.notOk(isSameSound(aac('1408'), aac('1210', '44100/2')))
  t.ok(isSameSound(aac('1408'), aac('1408')))
  t.notOk(isSameSound(aac('1408'), undefined))
})

const packetOf = (payload: number[], timestamp: number): RtpPacket => ({
  ...{ payloadType: 97, isMarked: true, sequence: 1, timestamp, source: 1 },
  payload: Uint8Array.from(payload),
})

function framesOf(format: SoundFormat | undefined, packets: (RtpPacket | 'gap')[]): SoundFrame[] {
  if (!format) throw new TypeError()
  const reader = createSoundReader(format)
  const frames: SoundFrame[] = []
  for (const packet of packets)
    if (packet === 'gap') reader.gap()
    else reader.add(packet, (frame) => frames.push(frame))
  return frames.map(({ bytes, ...frame }) => ({ ...frame, bytes: [...bytes] as unknown as Uint8Array }))
}

t.test('frames of AAC come several in a packet, or one in several', async (t) => {
  const two = packetOf([0, 32, 0, 2 << 3, 0, 3 << 3, 1, 2, 3, 4, 5], 0xffff_ff00)
  t.same(framesOf(aac('1408'), [two]), [
    { timestamp: 0xffff_ff00, ticks: 1024, bytes: [1, 2] },
    { timestamp: 0x300, ticks: 1024, bytes: [3, 4, 5] },
  ])
  const part = (bytes: number[], at = 7) => packetOf([0, 16, 0, 5 << 3, ...bytes], at)
  t.same(framesOf(aac('1408'), [part([1, 2]), part([3, 4]), part([5])]), [
    { timestamp: 7, ticks: 1024, bytes: [1, 2, 3, 4, 5] },
  ])
  t.same(framesOf(aac('1408'), [part([1, 2]), 'gap', part([3, 4], 9), part([5, 6, 7], 9)]), [
    { timestamp: 9, ticks: 1024, bytes: [3, 4, 5, 6, 7] },
  ])
  t.throws(() => framesOf(aac('1408'), [part([1, 2]), part([3, 4]), part([5, 6])]), { code: 'rtp_broken' })
})

t.test('each byte of G.711 is a sample', async (t) => {
  t.same(framesOf(offered('m=audio 0 RTP/AVP 8'), [packetOf([9, 8, 7], 5)]), [
    { timestamp: 5, ticks: 3, bytes: [9, 8, 7] },
  ])
})

t.test('packets of noise give frames or faults, and nothing else', async () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), fc.nat(3), (payloads, stamps) => {
      for (const [at, payload] of payloads.entries())
        try {
          framesOf(aac('1408'), [packetOf([...payload], at % (stamps + 1))])
        } catch (error) {
          if (!(error instanceof Fault) || error.code !== 'rtp_broken') throw error
        }
    }),
  )
})

t.test('descriptions of noise are left out or taken, and throw nothing', async () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(100_000), (config, parameters, rate) => {
      aac(config, `${rate}/${parameters}`, `${parameters};mode=AAC-hbr`)
    }),
  )
})
