import t from 'tap'
import { createLampBlinker, noLamp } from '../../io/own-machine.ts'
import { fakeHelper } from '../fake-helper.ts'

const lamp = (trigger = 'none timer heartbeat [mmc0]\n', brightness = '1\n') => ({ trigger, brightness })

function setup(folder: string, name = '') {
  const helper = fakeHelper()
  return { helper, blinker: createLampBlinker({ helper, name, folder }) }
}

t.test('the kernel blinks the most suitable lamp, which is restored afterwards', async (t) => {
  const { helper, blinker } = setup(t.testdir({ ACT: lamp(), 'input3::capslock': lamp(), 'board:status': lamp() }))
  t.equal(await blinker.start(), true)
  await blinker.stop()
  await blinker.stop()
  t.same(helper.asked, ['lamp board:status timer 0', 'lamp board:status mmc0 1'])
})

t.test('a lamp without a trigger gets its brightness back', async (t) => {
  const { helper, blinker } = setup(t.testdir({ PWR: lamp('[none] heartbeat', '255') }), 'PWR')
  t.equal(await blinker.start(), true)
  await blinker.stop()
  t.same(helper.asked, ['lamp PWR heartbeat 0', 'lamp PWR none 255'])
})

t.test('a named lamp is used, and no other', async (t) => {
  const { helper, blinker } = setup(t.testdir({ ACT: lamp() }), 'gone')
  t.equal(await blinker.start(), false)
  t.same(helper.asked, [])
})

t.test('lamps of keyboards, networks and cards, and those that cannot blink, are left alone', async (t) => {
  const folder = t.testdir({
    'input3::capslock': lamp(),
    'eth0:link': lamp(),
    'mmc0::': lamp(),
    ACT: lamp('[none] default-on'),
  })
  t.equal(await setup(folder).blinker.start(), false)
  t.equal(await setup('/nowhere').blinker.start(), false)
})

t.test('a helper that refuses leaves nothing to restore', async (t) => {
  const { helper, blinker } = setup(t.testdir({ ACT: lamp() }))
  helper.answers('lamp', { reason: 'lamp_failed' })
  await t.rejects(blinker.start(), { code: 'helper_refused' })
  await blinker.stop()
  t.equal(helper.asked.length, 1)
})

t.test("lamps of somebody else's machine stay as they are", async (t) => {
  t.equal(await noLamp.start(), false)
  await noLamp.stop()
})
