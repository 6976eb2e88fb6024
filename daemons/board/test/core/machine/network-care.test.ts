import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  createNetworkCare,
  foreignNetwork,
  type NetworkCare,
  type NetworkCareParts,
  type NetworkRecord,
  untouchedNetwork,
  wantedAddress,
} from '../../../core/machine/network.ts'
import { firstSettings } from '../../../core/settings/settings.ts'
import { keptInMemory } from '../../kept-in-memory.ts'

const fixed = { ip: '10.20.4.11', prefix: 24, gw: '10.20.4.1' }
const other = { ...fixed, ip: '10.20.4.12' }

/** A machine whose board starts as often as a test likes; its clock keeps running. */
function setup(before: NetworkRecord = untouchedNetwork) {
  const clock = fakeClock()
  const kept = keptInMemory(before)
  const told: string[] = []
  const world = {
    fault: undefined as Fault | undefined,
    changes: 0,
    hasAddress: false,
    onAddress: (_care: NetworkCare) => {},
    onDhcp: () => {},
  }
  async function tell(what: string) {
    told.push(what)
    if (world.fault) throw world.fault
    if (what === 'dhcp') world.onDhcp()
  }
  async function start(wanted: NetworkCareParts['wanted'], bootId = 'one') {
    const care = await createNetworkCare({
      clock,
      log: silentLog,
      file: kept.file,
      machine: {
        async setAddress({ ip, prefix, gw }) {
          world.onAddress(care)
          await tell(`${ip}/${prefix} ${gw}`)
        },
        setDhcp: () => tell('dhcp'),
        hasAddress: () => world.hasAddress,
        ownAddresses: () => ['127.0.0.1', '10.20.4.11'],
      },
      bootId,
      wanted,
      confirmMs: 120_000,
      retryMs: 10_000,
      retries: 3,
      onChange: () => world.changes++,
    })
    await care.start()
    return care
  }
  return { clock, kept, told, world, start }
}

t.test('a freshly flashed board leaves the address of its machine alone', async (t) => {
  const { told, start } = setup()
  const care = await start({ address: null, saves: 0 })
  t.same(told, [])
  t.match(care.view(), { state: 'dhcp', confirmUntil: null, text: /by DHCP/ })
})

t.test('a new address is confirmed once somebody was answered there', async (t) => {
  const { clock, told, world, start, kept } = setup()
  const care = await start({ address: fixed, saves: 1 })
  t.same(told, ['10.20.4.11/24 10.20.4.1'])
  t.match(care.view(), { state: 'unconfirmed', confirmUntil: clock.epochMs() + 120_000, text: /10\.20\.4\.11/ })
  await clock.run(60_000)
  care.contact('10.20.4.40', '10.20.4.11')
  t.match(care.view(), { state: 'static', confirmUntil: null })
  await clock.run(200_000)
  t.same(told, ['10.20.4.11/24 10.20.4.1'])
  t.match(kept.saved(), { state: 'static', address: fixed })
  t.equal(world.changes, 2)
})

t.test('a request from the machine itself, or to another address, proves nothing', async (t) => {
  const { clock, told, start } = setup()
  const care = await start({ address: fixed, saves: 1 })
  care.contact('127.0.0.1', '10.20.4.11')
  care.contact('10.20.4.11', '10.20.4.11')
  care.contact('10.20.4.40', '10.20.9.9')
  care.contact('10.20.4.40', '')
  await clock.run(119_999)
  t.equal(care.view().state, 'unconfirmed')
  await clock.run(1)
  t.match(care.view(), { state: 'fallen_back', confirmUntil: null, text: /Nobody reached the board at 10\.20\.4\.11/ })
  t.same(told, ['10.20.4.11/24 10.20.4.1', 'dhcp'])
})

t.test('the address that DHCP gave is kept only once the machine has set it and somebody then uses it', async (t) => {
  const { clock, told, world, start, kept } = setup()
  world.onAddress = (care) => care.contact('10.20.4.40', '10.20.4.11')
  const care = await start({ address: fixed, saves: 1 })
  t.equal(care.view().state, 'unconfirmed', 'a caller at the DHCP address proves nothing')
  care.contact('10.20.4.40', '10.20.4.11')
  await clock.run(200_000)
  t.equal(care.view().state, 'static')
  t.match(kept.saved(), { state: 'static', address: fixed })
  t.same(told, ['10.20.4.11/24 10.20.4.1'], 'and a confirmed address is not taken back')
})

t.test('the two minutes continue across restarts of the daemon', async (t) => {
  const { clock, told, start } = setup()
  const care = await start({ address: fixed, saves: 1 })
  const { confirmUntil } = care.view()
  await clock.run(100_000)
  care.close()
  const again = await start({ address: fixed, saves: 1 })
  t.equal(again.view().confirmUntil, confirmUntil)
  await clock.run(20_000)
  t.equal(again.view().state, 'fallen_back')
  t.equal(told.at(-1), 'dhcp')
})

t.test('a daemon that was down past the deadline takes the address back as soon as it is up', async (t) => {
  const { clock, start } = setup()
  ;(await start({ address: fixed, saves: 1 })).close()
  await clock.run(300_000)
  const again = await start({ address: fixed, saves: 1 })
  await clock.run(0)
  t.equal(again.view().state, 'fallen_back')
})

t.test('after a reboot of the machine the two minutes begin again', async (t) => {
  const { clock, start } = setup()
  ;(await start({ address: fixed, saves: 1 })).close()
  await clock.run(100_000)
  const again = await start({ address: fixed, saves: 1 }, 'two')
  t.equal(again.view().confirmUntil, clock.epochMs() + 120_000)
})

t.test('an address that was taken back stays so across restarts, until the settings are saved again', async (t) => {
  const { clock, told, start } = setup()
  await start({ address: fixed, saves: 1 })
  await clock.run(120_000)
  told.length = 0
  t.equal((await start({ address: fixed, saves: 1 }, 'two')).view().state, 'fallen_back')
  t.same(told, [])
  t.equal((await start({ address: fixed, saves: 2 }, 'two')).view().state, 'unconfirmed')
})

t.test('a confirmed address needs no new confirmation after another save', async (t) => {
  const { told, start } = setup({ ...untouchedNetwork, state: 'static', address: fixed, saves: 1 })
  t.equal((await start({ address: fixed, saves: 2 })).view().state, 'static')
  t.same(told, [])
  t.equal((await start({ address: other, saves: 3 })).view().state, 'unconfirmed')
  t.same(told, ['10.20.4.12/24 10.20.4.1'])
})

t.test('an address that nobody reached is taken back for the one that was, over power cuts too', async (t) => {
  const { clock, told, start, kept, world } = setup({ ...untouchedNetwork, state: 'static', address: fixed, saves: 1 })
  const care = await start({ address: other, saves: 2 })
  t.equal(care.goesBackTo(), '10.20.4.11/24')
  t.match(care.view(), { state: 'unconfirmed', text: /otherwise it goes back to 10\.20\.4\.11\/24/ })
  care.close()
  const third = { ...fixed, ip: '10.20.4.13' }
  const again = await start({ address: third, saves: 3 }, 'two')
  await clock.run(120_000)
  t.same(told, ['10.20.4.12/24 10.20.4.1', '10.20.4.13/24 10.20.4.1', '10.20.4.11/24 10.20.4.1'])
  t.match(again.view(), {
    state: 'fallen_back',
    text: /at 10\.20\.4\.13\/24 in time, so it is back at 10\.20\.4\.11\/24/,
  })
  t.match(kept.saved(), { state: 'fallen_back', address: third, before: fixed })
  t.equal((await start({ address: third, saves: 3 }, 'three')).goesBackTo(), '10.20.4.11/24')
  t.equal(told.length, 3, 'it stays there')
  const dhcp = await start({ address: null, saves: 4 }, 'four')
  t.equal(dhcp.goesBackTo(), '10.20.4.11/24')
  world.hasAddress = true
  await clock.run(10_000)
  t.equal(dhcp.goesBackTo(), 'DHCP')
})

t.test('a new address can be confirmed on the machine itself, once the machine has it', async (t) => {
  const { clock, world, start, kept } = setup()
  const early: boolean[] = []
  world.onAddress = (care) => void early.push(care.confirm())
  const care = await start({ address: fixed, saves: 1 })
  t.same([...early, care.confirm(), care.confirm()], [false, true, false])
  await clock.run(200_000)
  t.match(kept.saved(), { state: 'static', address: fixed })
})

t.test('a change of only the gateway must be confirmed too', async (t) => {
  const { told, start } = setup({ ...untouchedNetwork, state: 'static', address: fixed, saves: 1 })
  t.equal((await start({ address: { ...fixed, gw: '10.20.4.9' }, saves: 2 })).view().state, 'unconfirmed')
  t.same(told, ['10.20.4.11/24 10.20.4.9'])
})

t.test('the board says which address it keeps, and which gateway or none', async (t) => {
  for (const [gw, said] of [
    ['10.20.4.1', 'The board keeps the address 10.20.4.11/24, gateway 10.20.4.1.'],
    ['', 'The board keeps the address 10.20.4.11/24, without a gateway.'],
  ] as const) {
    const address = { ...fixed, gw }
    const { start } = setup({ ...untouchedNetwork, state: 'static', address, saves: 1 })
    t.equal((await start({ address, saves: 1 })).view().text, said)
  }
})

t.test('with the fixed address switched off, the machine uses DHCP again, once that gave an address', async (t) => {
  const { told, start, clock, world, kept } = setup({ ...untouchedNetwork, state: 'static', address: fixed, saves: 1 })
  // What is still there from before is no lease.
  world.hasAddress = true
  world.onDhcp = () => {
    world.hasAddress = false
  }
  const care = await start({ address: null, saves: 2 })
  t.match(care.view(), { state: 'dhcp', text: /If none comes in time, it goes back to 10\.20\.4\.11\/24/ })
  await clock.run(100_000)
  care.close()
  const again = await start({ address: null, saves: 2 })
  world.hasAddress = true
  await clock.run(10_000)
  t.match(again.view(), { state: 'dhcp', confirmUntil: null, text: 'The board asks for its address by DHCP.' })
  await clock.run(300_000)
  t.same(told, ['dhcp', 'dhcp'])
  t.match(kept.saved(), { state: 'dhcp', before: null, deadlineMs: null })
  await start({ address: null, saves: 3 })
  t.same(told, ['dhcp', 'dhcp'], 'and is left alone from then on')
})

t.test(
  'where DHCP gives no address the board is back at its fixed one, until the settings are saved again',
  async (t) => {
    const { told, start, clock } = setup({ ...untouchedNetwork, state: 'static', address: fixed, saves: 1 })
    const care = await start({ address: null, saves: 2 })
    await clock.run(119_999)
    t.equal(care.view().state, 'dhcp')
    await clock.run(1)
    t.match(care.view(), {
      state: 'fallen_back',
      text: /No address came by DHCP in time, so the board is back at 10\.20\.4\.11/,
    })
    t.same(told, ['dhcp', '10.20.4.11/24 10.20.4.1'])
    await start({ address: null, saves: 2 }, 'two')
    t.equal(told.length, 2)
    t.equal((await start({ address: null, saves: 3 }, 'two')).view().state, 'dhcp')
    t.equal(told.at(-1), 'dhcp')
  },
)

t.test('a machine that does not accept the address says why, and is asked again at the next start', async (t) => {
  const { told, world, start, clock } = setup()
  world.fault = new Fault('helper_absent', 'nobody answers')
  const care = await start({ address: fixed, saves: 1 })
  t.match(care.view(), { state: 'refused', text: /did not take the network settings: nobody answers\. They are tried/ })
  await clock.run(300_000)
  t.same(told, ['10.20.4.11/24 10.20.4.1'], 'and nothing was taken back')
  world.fault = undefined
  t.equal((await start({ address: fixed, saves: 1 })).view().state, 'unconfirmed')
  world.fault = new Fault('helper_absent', 'nobody answers')
  t.equal((await start({ address: null, saves: 2 })).view().state, 'refused')
})

t.test('an address that cannot be taken back is tried again, a few times', async (t) => {
  const { told, world, start, clock } = setup()
  const care = await start({ address: fixed, saves: 1 })
  world.fault = new Fault('helper_absent', 'nobody answers')
  await clock.run(500_000)
  t.same(told.slice(1), ['dhcp', 'dhcp', 'dhcp'])
  t.equal(care.view().state, 'unconfirmed')
})

t.test('an answer while the address is being taken back comes too late', async (t) => {
  const { clock, world, start } = setup()
  const care = await start({ address: fixed, saves: 1 })
  world.onDhcp = () => care.contact('10.20.4.40', '10.20.4.11')
  await clock.run(120_000)
  t.equal(care.view().state, 'fallen_back')
})

t.test('it comes back once the helper does', async (t) => {
  const { world, start, clock } = setup()
  const care = await start({ address: fixed, saves: 1 })
  world.fault = new Fault('helper_absent', 'nobody answers')
  await clock.run(121_000)
  world.fault = undefined
  await clock.run(10_000)
  t.equal(care.view().state, 'fallen_back')
})

t.test('with a full disk only the state is lost across a restart', async (t) => {
  const { kept, start } = setup()
  kept.fail(new Fault('store_write_failed', 'the disk is full'))
  t.equal((await start({ address: fixed, saves: 1 })).view().state, 'unconfirmed')
  t.equal(kept.saved().state, 'dhcp')
})

t.test("a machine that is somebody else's is left alone, and the board says so", async (t) => {
  const care = foreignNetwork()
  await care.start()
  care.contact('10.20.4.40', '10.20.4.11')
  t.notOk(care.confirm())
  care.close()
  t.match(care.view(), { state: 'not_owned', confirmUntil: null, text: /does not own the machine/ })
})

t.test('settings have a fixed address or none', async (t) => {
  const first = firstSettings({ role: 'serial', hostname: 'b', mcast: '' })
  t.equal(wantedAddress({ ...first, ip: '10.0.0.1', mask: '255.0.0.0', gw: '10.0.0.2' }), null)
  t.same(wantedAddress({ ...first, static_ip: true, ip: '10.0.0.1', mask: '255.0.0.0', gw: '10.0.0.2' }), {
    ip: '10.0.0.1',
    prefix: 8,
    gw: '10.0.0.2',
  })
  t.equal(wantedAddress({ ...first, static_ip: true }), null)
})
