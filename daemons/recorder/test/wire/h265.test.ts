import t from 'tap'
import { h265 } from '../../wire/h265.ts'
import { bytesOf, h265Sets } from '../parameter-sets.ts'

const [vps, sps, pps] = h265Sets.units as [Uint8Array, Uint8Array, Uint8Array]

t.test('reads size, rate and codec of a parameter set', async (t) => {
  t.same(h265.factsOf(h265Sets.units), { width: 320, height: 240, codec: 'hvc1.1.6.L60.90', fps: 15 })
  // x265, 1920 x 1080 of 1088 rows, Main 10, with lists for scaling.
  const large = bytesOf('420101222000000300900000030000030099a003c08010e4d96566924e5780b4040000030004000003006420')
  t.same(h265.factsOf([vps, large, pps]), { width: 1920, height: 1080, codec: 'hvc1.2.4.H153.90', fps: 25 })
})

t.test('decoding can begin with IDR, CRA and BLA', async (t) => {
  const roles = Array.from({ length: 41 }, (_, kind) => h265.roleOf(Uint8Array.of(kind << 1, 1)))
  t.same(new Set(roles.slice(0, 16)), new Set(['slice']))
  t.same(new Set(roles.slice(16, 24)), new Set(['key']))
  t.same(roles.slice(32), ['set', 'set', 'set', 'dropped', 'beside', 'beside', 'dropped', 'beside', 'beside'])
})

t.test('the box of a file says profile, colours and lengths as the stream does', async (t) => {
  const config = h265.writeConfig([vps, sps, pps])
  t.same([...config.subarray(0, 23)], [...bytesOf('01 01 60000000 900000000000 3c f000 fc fd f8 f8 0000 0f 03')])
  t.same([...config.subarray(23, 28)], [0xa0, 0, 1, 0, vps.length])
})

t.test('a rate that only the video parameter set has is taken from there', async (t) => {
  // The SPS without its VUI: its last flag says so.
  const bare = bytesOf('42010101600000030090000003000003003ca00a080f165959a4932bc0 40')
  t.equal(h265.factsOf([vps, bare, pps]).fps, undefined)
  const timed = bytesOf('40010c01ffff01600000030090000003000003003c 95980c040404043c3c3c3c80')
  t.equal(h265.factsOf([timed, bare, pps]).fps, 15)
})
