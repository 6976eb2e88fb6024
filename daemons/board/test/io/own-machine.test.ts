import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { type NetworkRecord, untouchedNetwork } from '../../core/machine/network.ts'
import { openStartBook, type StartRecord } from '../../core/machine/restart.ts'
import { firstSettings } from '../../core/settings/settings.ts'
import { machineName } from '../../io/machine-facts.ts'
import { openOwnMachine } from '../../io/own-machine.ts'
import { fakeHelper } from '../fake-helper.ts'
import { keptInMemory } from '../kept-in-memory.ts'

const config = {
  owned: true,
  interface: 'eth7',
  confirm_ms: 120_000,
  take_back_ms: 10_000,
  take_back_tries: 3,
  restart_after_ms: 250,
  restart_s: 40,
}

async function setup(owned: boolean) {
  const clock = fakeClock()
  const helper = fakeHelper()
  const restarts: string[] = []
  const first = firstSettings({ role: 'serial', hostname: 'lobby', mcast: '' })
  const settings = { ...first, static_ip: true, ip: '10.20.4.11', mask: '255.255.255.0', gw: '10.20.4.1' }
  const starts = await openStartBook({
    clock,
    file: keptInMemory<StartRecord | undefined>(undefined).file,
    bootId: 'one',
    forget: async () => {},
  })
  const machine = await openOwnMachine({
    clock,
    log: silentLog,
    config: { ...config, owned },
    helper,
    settings,
    saves: 1,
    starts,
    networkFile: keptInMemory<NetworkRecord>(untouchedNetwork).file,
    settle: async () => {},
    restartSelf: (reason) => void restarts.push(reason),
    onChange: () => {},
  })
  return { clock, helper, machine, restarts }
}

t.test('a board that owns its machine gives it its name and address, and reboots it', async (t) => {
  const { clock, helper, machine, restarts } = await setup(true)
  await machine.start()
  await machine.rebooter.reboot('config')
  await clock.run(250)
  t.same(helper.asked, ['hostname lobby', 'network static eth7 10.20.4.11/24 10.20.4.1', 'reboot'])
  t.equal(machine.network.view().state, 'unconfirmed')
  t.same(restarts, [])
})

t.test('a machine that does not accept its name says so next to its network', async (t) => {
  const { helper, machine } = await setup(true)
  helper.answers('hostname', { reason: 'busy' })
  await machine.start()
  t.match(machine.nameTrouble(), new RegExp(`still called ${machineName()}: .*busy`))
})

t.test("somebody else's machine is asked for nothing: the daemon restarts itself", async (t) => {
  const { clock, helper, machine, restarts } = await setup(false)
  await machine.start()
  await machine.rebooter.reboot('config')
  await clock.run(250)
  t.same(helper.asked, [])
  t.same(restarts, ['config'])
  t.equal(machine.network.view().state, 'not_owned')
})
