/** Tests of which roles a machine is able to take. */
import t from 'tap'
import { type RoleFacts, roleFitness } from '../../core/role.ts'

const whole: RoleFacts = {
  serialLines: 1,
  hasUsb: true,
  hasUsbipHost: true,
  hasSound: true,
  playing: 1,
  recording: 1,
}

function whyNot(facts: Partial<RoleFacts>, role: string): string | undefined {
  return roleFitness({ ...whole, ...facts }).find((each) => each.role === role)?.text
}

t.test('B.rules.4 each role says whether this machine can take it, and why not', async (t) => {
  t.same(
    roleFitness(whole).map(({ role }) => role),
    ['encoder', 'decoder', 'serial', 'usbip'],
  )
  t.equal(whyNot({}, 'serial'), '')
  t.match(whyNot({ serialLines: 0 }, 'serial'), /plug an adapter in/)
  t.equal(whyNot({}, 'usbip'), '')
  t.match(whyNot({ hasUsbipHost: false }, 'usbip'), /no usbip-host/)
  t.match(whyNot({ hasUsb: false, hasUsbipHost: false }, 'usbip'), /no USB\./)
  for (const role of ['encoder', 'decoder']) {
    t.equal(whyNot({}, role), '')
    t.match(whyNot({ hasSound: false }, role), /^Sound needs GStreamer: apt-get install /)
  }
  t.ok(roleFitness(whole).every(({ can }) => can))
  t.same(
    roleFitness({ ...whole, hasSound: false, serialLines: 0 }).map(({ can }) => can),
    [false, false, false, true],
  )
})

t.test('B.rules.4 a missing sound card does not rule out a role, but is reported', async (t) => {
  const [encoder, decoder] = roleFitness({ ...whole, playing: 0, recording: 0 })
  t.match(encoder, { can: true, text: /No sound card that records/ })
  t.match(decoder, { can: true, text: /No sound card that plays/ })
})
