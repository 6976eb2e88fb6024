import t from 'tap'
import { requireFace } from '../../../core/lines/port-registry.ts'

t.test('the face of a protocol is given to the routes that ask for it', async (t) => {
  const units = { list: () => [], states: () => ({}), forget: () => {} }
  t.equal(requireFace({ path: '/dev/ttyUSB0', adapter: { faces: { units } } }, 'units'), units)
})

t.test('a protocol without the face is refused with the name of what is missing', async (t) => {
  for (const adapter of [{}, { faces: {} }])
    t.throws(() => requireFace({ path: '/dev/ttyUSB0', adapter }, 'units'), {
      code: 'wrong_protocol',
      message: /\/dev\/ttyUSB0 has no units/,
    })
})
