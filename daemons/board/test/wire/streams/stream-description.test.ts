/** Tests of wire/streams/description.ts. */
import t from 'tap'
import { framesOf, playFault, type StreamDescription } from '../../../wire/streams/description.ts'
import { STREAM } from './described-stream.ts'

const stream: StreamDescription<string> = { ...STREAM, channels: 8, refClock: null }

t.test('AES67 8.1 rounded packet times mean whole frames', async (t) => {
  for (const [packetMs, frames] of [
    [0.12, 6],
    [0.125, 6],
    [0.25, 12],
    [0.33, 16],
    [1, 48],
    [4, 192],
  ] as const)
    t.equal(framesOf({ packetMs, sampleRate: 48_000 }), frames)
  t.equal(framesOf({ packetMs: 1.09, sampleRate: 44_100 }), 48)
})

t.test('an unplayable stream is reported with its reason', async (t) => {
  t.equal(playFault(stream), undefined)
  const path = stream.paths[0]
  const rows: [Partial<StreamDescription<string>>, RegExp][] = [
    [{ encoding: 'AM824' }, /AES3/],
    [{ encoding: 'OPUS' }, /OPUS/],
    [{ sampleRate: 96_000 }, /96000 Hz/],
    [{ channels: 81 }, /81 channels/],
    [{ packetMs: 4 }, /4608 bytes.*1440/],
    [{ packetMs: 0 }, /0 bytes/],
    [{ paths: path ? [path, path, path] : [] }, /3 paths/],
    [
      { paths: path ? [{ ...path, group: '10.20.4.31' }] : [] },
      /sent where no board listens: 10\.20\.4\.31 is not a mult/,
    ],
    [{ paths: path ? [path, { ...path, group: '224.0.1.129' }] : [] }, /224\.0\.1\.129 is given to other protocols/],
  ]
  for (const [difference, sentence] of rows) t.match(playFault({ ...stream, ...difference }), sentence)
})
