import t from 'tap'
import { h264 } from '../../wire/h264.ts'
import { bytesOf, h264Sets } from '../parameter-sets.ts'

t.test('reads size, rate and codec of a parameter set', async (t) => {
  t.match(h264.factsOf(h264Sets.units), { width: 320, height: 240, codec: 'avc1.64000c', fps: 15 })
  t.same([...h264.writeConfig(h264Sets.units).slice(-4)], [0xfd, 0xf8, 0xf8, 0], 'the High profile says its colours')
  // 1920 x 1080, whose last macroblocks are cropped; Baseline profile without a rate.
  t.match(h264.factsOf([bytesOf('6742c028d900780227e584000003000400000300 f03c60c920')]), {
    width: 1920,
    height: 1080,
    codec: 'avc1.42c028',
  })
})
