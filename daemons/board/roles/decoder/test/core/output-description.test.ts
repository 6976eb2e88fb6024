import t from 'tap'
import { chooseSink, fileEnd, NULL_END, outputDescription } from '../../core/output.ts'

t.test('the card of the settings wins over the sink of board.toml', async (t) => {
  t.same(chooseSink('hw:2', 'null'), { kind: 'alsa', device: 'hw:2' })
  t.same(chooseSink('', 'null'), { kind: 'null' })
  t.same(chooseSink('', 'file:/tmp/a b.wav'), { kind: 'file', path: '/tmp/a b.wav' })
  t.same(chooseSink('', 'plughw:1,0'), { kind: 'alsa', device: 'plughw:1,0' })
  t.same(chooseSink('', ''), { kind: 'alsa', device: '' })
})

t.test('a path cannot inject anything into the pipeline', async (t) => {
  t.match(fileEnd('/tmp/a" ! fakesink "\\'), 'location="/tmp/a\\" ! fakesink \\"\\\\"')
})

t.test('levels are measured of the sound that is played', async (t) => {
  t.match(outputDescription(8, NULL_END), /^plantroomrtpsrc name=rtp channels=8 ! level .* ! fakesink sync=false$/)
})
