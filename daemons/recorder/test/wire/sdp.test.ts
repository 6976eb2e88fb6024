import fc from 'fast-check'
import t from 'tap'
import { h264 } from '../../wire/h264.ts'
import { h265 } from '../../wire/h265.ts'
import { controlUrl, parameterSetsOf, readSdp } from '../../wire/sdp.ts'

const text = `v=0\r
o=- 0 0 IN IP4 127.0.0.1\r
a=control:*\r
m=audio 0 RTP/AVP 8\r
a=control:stream=1\r
m=video 0 RTP/AVP 96\r
a=rtpmap:96 h264/90000\r
a=fmtp:96 packetization-mode=1; Sprop-Parameter-Sets=Z0IAHg==,aM4;profile-level-id=42001e\r
a=control:trackID=2\r
`

t.test('reads the media that a camera offers', async (t) => {
  const { control, media } = readSdp(text)
  t.equal(control, '*')
  const [audio, video] = media
  t.match(audio, { kind: 'audio', payloadType: 8, encoding: '', control: 'stream=1' })
  t.match(video, { kind: 'video', payloadType: 96, encoding: 'H264', clockRate: 90_000, control: 'trackID=2' })
  const sets = video ? parameterSetsOf(video, h264) : []
  t.same(
    sets.map((set) => [...set]),
    [
      [0x67, 0x42, 0, 0x1e],
      [0x68, 0xce],
    ],
    'padded or not',
  )
})

t.test('reads the parameter sets of H.265, which are three lists', async (t) => {
  const parameters = new Map([
    ['sprop-vps', 'QAE='],
    ['sprop-sps', 'QgE'],
    ['sprop-pps', 'RAE=,RAI='],
  ])
  t.same(
    parameterSetsOf({ parameters }, h265).map((set) => Buffer.from(set).toString('hex')),
    ['4001', '4201', '4401', '4402'],
  )
})

t.test('joins addresses as cameras mean them', async (t) => {
  t.equal(controlUrl('rtsp://c/a?x=1', 'track=1'), 'rtsp://c/a?x=1/track=1')
  t.equal(controlUrl('rtsp://c/a/', 'track=1'), 'rtsp://c/a/track=1')
  t.equal(controlUrl('rtsp://c/a', 'rtsp://c/b'), 'rtsp://c/b')
  for (const own of [undefined, '*', '']) t.equal(controlUrl('rtsp://c/a', own), 'rtsp://c/a')
})

t.test('throws nothing, whatever is sent', async () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(text.length), (noise, at) => {
      for (const media of readSdp(text.slice(0, at) + noise + text.slice(at)).media)
        for (const codec of [h264, h265]) parameterSetsOf(media, codec)
    }),
  )
})
