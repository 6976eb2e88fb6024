import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { picturesOf } from '../../wire/mp4-samples.ts'
import { writeFragment } from '../../wire/mp4-write.ts'
import { withLengths } from '../../wire/pictures.ts'

const samples = [
  {
    data: withLengths([Uint8Array.of(0x65, 1, 2), Uint8Array.of(0x65, 9)]),
    isKey: true,
    durationTicks: 6000,
    offsetTicks: 0,
  },
  { data: withLengths([Uint8Array.of(0x41, 3)]), isKey: false, durationTicks: 6000, offsetTicks: 6000 },
  { data: withLengths([Uint8Array.of(0x01, 4, 5)]), isKey: false, durationTicks: 7000, offsetTicks: -6000 },
]
const fragment = writeFragment({ sequence: 1, decodeTicks: 90_000, wallMs: 1_900_000_000_000, samples })

t.test('gives back the pictures of a fragment, and when each is shown', async (t) => {
  t.same(
    picturesOf(fragment).map(({ units, ...rest }) => ({ ...rest, units: units.map((unit) => [...unit]) })),
    [
      {
        units: [
          [0x65, 1, 2],
          [0x65, 9],
        ],
        isKey: true,
        shownTicks: 0,
        durationTicks: 6000,
      },
      { units: [[0x41, 3]], isKey: false, shownTicks: 12_000, durationTicks: 6000 },
      { units: [[0x01, 4, 5]], isKey: false, shownTicks: 6000, durationTicks: 7000 },
    ],
  )
})

t.test('what is damaged is a fault, and never read beyond its end', async (t) => {
  const isSound = (bytes: Uint8Array) => {
    try {
      for (const { units } of picturesOf(bytes)) for (const unit of units) if (unit.length > bytes.length) return false
      return true
    } catch (error) {
      return error instanceof Fault
    }
  }
  for (let length = 0; length < fragment.length; length++) t.ok(isSound(fragment.subarray(0, length)))
  fc.assert(
    fc.property(fc.integer({ min: 0, max: fragment.length - 1 }), fc.integer({ min: 0, max: 255 }), (at, byte) => {
      const copy = fragment.slice()
      copy[at] = byte
      return isSound(copy)
    }),
  )
})
