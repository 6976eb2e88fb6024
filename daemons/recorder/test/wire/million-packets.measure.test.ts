/** A million random and mutated packets for each reader: it throws only its named faults, and keeps nothing in memory. */
import t, { type Test } from 'tap'
import { type Fire, fireAt } from '#kit/test/million.ts'
import { scanMp4 } from '../../wire/mp4-read.ts'
import { writeFragment, writeHead } from '../../wire/mp4-write.ts'
import { createBlockPool } from '../../wire/picture-blocks.ts'
import { PictureAssembler, type VideoCodec } from '../../wire/pictures.ts'
import { createReception, readSenderReport } from '../../wire/rtcp.ts'
import { type RtpPacket, readRtp } from '../../wire/rtp.ts'
import { headerOf, RtspReader, readChannels, readServerPorts, readSession } from '../../wire/rtsp.ts'
import { controlUrl, parameterSetsOf, readSdp } from '../../wire/sdp.ts'
import { createSoundReader, soundOf } from '../../wire/sound.ts'
import { videoCodecs } from '../../wire/video-codecs.ts'
import { alaw, bytesOf, h264Sets, h265Sets } from '../parameter-sets.ts'

const fire = (t: Test, at: Omit<Fire, 'randomOneIn'>) => fireAt(t, { ...at, randomOneIn: 8 })

const textBytes = (...lines: string[]) => Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')

t.test('a million chunks of RTSP', (t) => {
  const bounds = { headBytes: 4096, bodyBytes: 4096 }
  let reader = new RtspReader(bounds)
  return fire(t, {
    golden: [
      textBytes('RTSP/1.0 200 OK', 'CSeq: 3', 'Session: 7;timeout=60', 'Transport: RTP/AVP/TCP;interleaved=0-1'),
      textBytes('RTSP/1.0 200 OK', 'Transport: RTP/AVP;unicast;client_port=1-2;server_port=3-4'),
      textBytes('RTSP/1.0 401 No', 'WWW-Authenticate: Digest realm="a", nonce="b", algorithm=SHA-256'),
      textBytes('OPTIONS * RTSP/1.0', 'CSeq: 9'),
      Buffer.concat([textBytes('RTSP/1.0 200 OK', 'Content-Length: 5'), Buffer.from('v=0\r\n')]),
      Buffer.concat([
        Uint8Array.of(0x24, 0, 0, 40),
        new Uint8Array(40),
        Uint8Array.of(0x24, 1, 0, 8),
        new Uint8Array(8),
      ]),
    ],
    faults: /^rtsp_broken$/,
    read(chunk, below) {
      // Half of them begin a connection, the others go on with whatever is held.
      if (below(2) === 0) reader = new RtspReader(bounds)
      try {
        for (const item of reader.read(chunk)) {
          if (item.kind === 'packet') continue
          readChannels(headerOf(item, 'transport'))
          readServerPorts(headerOf(item, 'transport'))
          readSession(headerOf(item, 'session'))
        }
      } catch (error) {
        // The connection is made anew.
        reader = new RtspReader(bounds)
        throw error
      }
    },
  })
})

t.test('a million descriptions', (t) =>
  fire(t, {
    golden: [
      textBytes(
        ...['v=0', 'a=control:*', 'm=video 0 RTP/AVP 96', 'a=rtpmap:96 H264/90000', 'a=control:track1'],
        'a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z2QADKy0Cg/YCIAAAAMAgAAADwR4oVUA,aO8Pyw==',
        ...['m=audio 0 RTP/AVP 97', 'a=rtpmap:97 mpeg4-generic/16000/1'],
        'a=fmtp:97 streamtype=5;mode=AAC-hbr;config=1408;sizelength=13;indexlength=3;indexdeltalength=3',
      ),
      textBytes(
        'v=0',
        'm=video 0 RTP/AVP 98',
        'a=rtpmap:98 H265/90000',
        'a=fmtp:98 sprop-vps=QAE=;sprop-sps=QgE=;sprop-pps=RAE=',
      ),
      textBytes('v=0', 'm=audio 0 RTP/AVP 8', 'm=audio 0 RTP/AVP 0', 'a=control:rtsp://a/b'),
    ],
    faults: /^$/,
    read(bytes) {
      const { control, media } = readSdp(Buffer.from(bytes).toString('latin1'))
      for (const one of media) {
        controlUrl(controlUrl('rtsp://c/a', control), one.control)
        soundOf(one)
        for (const codec of videoCodecs) parameterSetsOf(one, codec)
      }
    },
  }),
)

/** A packet of RTP around a payload. */
function wrapped(payload: Uint8Array, sequence: number, timestamp: number): Uint8Array {
  return Uint8Array.of(
    ...[0x80, 0x60 | (timestamp % 3 === 0 ? 0x80 : 0), sequence >> 8, sequence & 0xff],
    ...[0, 0, timestamp >> 8, timestamp & 0xff, 0, 0, 0, 7, ...payload],
  )
}

/** Pictures of a codec, as a camera packs them. */
function picturesFire(codec: VideoCodec, payloads: readonly Uint8Array[]): Omit<Fire, 'randomOneIn'> {
  let pictures = 0
  let bytes = 0
  const assembler = new PictureAssembler(codec, [], {
    blocks: createBlockPool(0),
    pictureBytes: 4000,
    listener: {
      hold: () => true,
      onPicture({ data, sets }) {
        pictures++
        bytes = data.length
        if (bytes > 4000) throw new TypeError(`a picture of ${bytes} bytes`)
        if (!sets || pictures % 16 > 0) return
        codec.factsOf(sets.units)
        codec.readConfig(codec.writeConfig(sets.units))
      },
      onDropped() {},
    },
  })
  return {
    golden: payloads,
    faults: /^(rtp_broken|bad_parameter_set)$/,
    read(payload, below) {
      if (below(40) === 0) assembler.gap()
      assembler.add(readRtp(wrapped(payload, below(65_536), below(4))))
    },
  }
}

t.test('a million payloads of H.264', (t) => {
  const slice = Uint8Array.from({ length: 60 }, (_, at) => (at === 0 ? 0x65 : at))
  const [sps = slice, pps = slice] = h264Sets.units
  return fire(
    t,
    picturesFire(h264Sets.codec, [
      ...[...h264Sets.units, slice, Uint8Array.of(24, 0, sps.length, ...sps, 0, pps.length, ...pps)],
      ...[Uint8Array.of(28, 0x85, ...slice), Uint8Array.of(28, 0x05, ...slice), Uint8Array.of(28, 0x45, ...slice)],
    ]),
  )
})

t.test('a million payloads of H.265', (t) => {
  const slice = Uint8Array.from({ length: 60 }, (_, at) => (at === 0 ? 0x28 : at === 1 ? 1 : at))
  const [vps = slice, sps = slice] = h265Sets.units
  return fire(
    t,
    picturesFire(h265Sets.codec, [
      ...[...h265Sets.units, slice, Uint8Array.of(96, 1, 0, vps.length, ...vps, 0, sps.length, ...sps)],
      ...[0x94, 0x14, 0x54].map((flags) => Uint8Array.of(98, 1, flags, ...slice)),
    ]),
  )
})

t.test('a million payloads of AAC', (t) => {
  const sound = soundOf(
    readSdp('m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/16000\r\na=fmtp:97 mode=AAC-hbr;config=1408')
      .media[0] as never,
  )
  if (!sound) throw new TypeError()
  const reader = createSoundReader(sound)
  return fire(t, {
    golden: [
      Uint8Array.of(0, 16, 0, 40 << 3, ...new Uint8Array(40)),
      Uint8Array.of(0, 32, 0, 9 << 3, 0, 7 << 3, ...new Uint8Array(16)),
      Uint8Array.of(0, 16, 3 << 3, 0, ...new Uint8Array(200)),
    ],
    faults: /^rtp_broken$/,
    read(payload, below) {
      const packet: RtpPacket = {
        payloadType: 97,
        isMarked: true,
        sequence: 0,
        timestamp: below(3),
        source: 1,
        payload,
      }
      if (below(40) === 0) reader.gap()
      reader.add(packet, ({ bytes }) => {
        if (bytes.length > 8191) throw new TypeError(`a frame of ${bytes.length} bytes`)
      })
    },
  })
})

t.test('a million packets of RTP and RTCP', (t) => {
  const reception = createReception(1, 90_000)
  const report = bytesOf('80c80006 00000007 ee6b2800 80000000 00015f90 00000001 00000002')
  let now = 0
  return fire(t, {
    golden: [wrapped(new Uint8Array(20), 1, 1), report, Uint8Array.of(0x81, 203, 0, 1, 0, 0, 0, 7, ...report)],
    faults: /^rtp_broken$/,
    read(bytes) {
      reception.packet(bytes, now++)
      const told = readSenderReport(bytes)
      if (told) reception.reported(told, now)
      if (now % 1000 === 0 && reception.report(now)?.length !== 44) throw new TypeError('a report of another length')
      readRtp(bytes)
    },
  })
})

t.test('a million files', (t) => {
  const sample = { data: new Uint8Array(9), isKey: true, durationTicks: 6000, offsetTicks: 0 }
  const files = [h264Sets, h265Sets].map((sets) => {
    const head = writeHead({ sets, facts: sets.codec.factsOf(sets.units), sound: alaw, hiddenTicks: 90_000 })
    const heard = { decodeTicks: 0, frames: [{ bytes: new Uint8Array(8), durationTicks: 8 }] }
    const time = { decodeTicks: 90_000, wallMs: 1_900_000_000_000, samples: [sample] }
    return Buffer.concat([head, writeFragment({ sequence: 1, ...time, sound: heard })])
  })
  return fire(t, {
    golden: files,
    faults: /^$/,
    read(bytes) {
      const scan = scanMp4((offset, length) => bytes.subarray(offset, offset + length), bytes.length)
      if (scan.wholeBytes > bytes.length) throw new TypeError('more than there is')
    },
  })
})
