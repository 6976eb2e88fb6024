import t from 'tap'
import { wordsAt } from '../register-map.ts'

t.test('words lie where the map says, as the type writes them, and nothing is between', async (t) => {
  const words = wordsAt(
    [
      { address: 2, type: 'f32', value: 1.5 },
      { address: 6, type: 's16', scale: 10, value: (ageMs) => -ageMs / 100 },
      { address: 7, type: 'u16', scale: 100, value: 655.35 },
    ],
    [{ from: 0, to: 1 }],
    205,
  )
  t.equal(words.length, 8)
  t.same(Object.entries(words), [
    ['0', 0],
    ['2', 0x3fc0],
    ['3', 0],
    ['6', 0xffec],
    ['7', 0xffff],
  ])
})

t.test('a value its type cannot hold is a mistake in the map', async (t) => {
  for (const [type, value] of [
    ['u16', -1],
    ['u16', 65_536],
    ['s16', 32_768],
    ['s16', -32_769],
    ['u16', Number.NaN],
  ] as const)
    t.throws(() => wordsAt([{ address: 9, type, value }], [], 0), /register 9/)
})
