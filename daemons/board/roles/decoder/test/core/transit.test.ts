import t from 'tap'
import { transitMsOf } from '../../core/reception.ts'

const NOW_NS = 1_732_233_600_000_000_000n
const NOW = Number(((NOW_NS * 48_000n) / 1_000_000_000n) % (1n << 32n))

t.test(
  'RFC 7273 5.2 a timestamp is compared with the clock, with the offset of the stream, across the wrap at 2^32',
  async (t) => {
    const at = (timestamp: number, mediaOffset = 0) =>
      transitMsOf({ timestamp: timestamp >>> 0, mediaOffset, audioNs: NOW_NS })
    t.equal(at(NOW), 0)
    t.equal(at(NOW - 96), 2)
    t.equal(at(NOW + 480), -10)
    t.equal(at(NOW + 4711, 4711), 0)
    t.equal(at(NOW + 0xffff_ff00, 0xffff_ff00), 0)
    t.equal(transitMsOf({ timestamp: 0xffff_ffd0, mediaOffset: 0, audioNs: 0n }), 1)
  },
)
