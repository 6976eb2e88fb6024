/** Tests of core/site/not-driven.ts: whatever in a site has no effect yet is named, with the reason. */
import t from 'tap'
import { createLog } from '#kit/log.ts'
import { shippedSets } from '#kit/test/device/shipped-sets.ts'
import { logNotDriven } from '../../../assemble/house.ts'
import { createDrivers } from '../../../core/drivers/list.ts'
import type { Row } from '../../../core/site/book.ts'
import { notDriven } from '../../../core/site/not-driven.ts'
import { bookOf } from './book-of.ts'

const DRIVERS = createDrivers(shippedSets())

function told(tables: Record<string, readonly Record<string, unknown>[]>): string[] {
  const rowsOf = (table: string) => (tables[table] ?? []).map((row, at) => ({ id: at + 1, ...row }) as unknown as Row)
  return notDriven(rowsOf, DRIVERS).map(({ row, why }) => `${row}: ${why}`)
}

const known = DRIVERS.map(({ name }) => name).join(', ')

t.test('for devices: unknown drivers, missing keys that a driver needs, and keys that it does not know', async (t) => {
  const tcp = { kind: 'tcp', host: '10.0.0.9', port: 4370 }
  t.same(
    told({
      device: [
        { name: 'Amp', driver: 'bacnet' },
        { name: 'Bare' },
        { name: 'Off', driver: 'bacnet', enabled: false },
        { name: 'Projector', driver: 'tcp', transport: tcp, config: { baud: 9600 }, poll_ms: 500, command_set: 'nec' },
        { name: 'Lost', driver: 'tcp', transport: { hst: '10.0.0.9', port: 1 } },
        { name: 'Rack', driver: 'sim', config: { dely_ms: 5, fail: true }, poll_ms: 500 },
        { name: 'Well', driver: 'tcp', transport: tcp },
      ],
    }),
    [
      `device 1 "Amp": there is no driver "bacnet" yet, known are ${known}: its commands are refused`,
      `device 2 "Bare": it names no driver, known are ${known}: its commands are refused`,
      'device 4 "Projector": config."baud": driver tcp does not know this key',
      'device 4 "Projector": poll_ms: driver tcp does not poll',
      'device 4 "Projector": command_set: driver tcp reads none; leave driver empty',
      'device 5 "Lost": transport.host of device 5 is not a name or address of a host: its commands are refused',
      'device 5 "Lost": transport."hst": driver tcp does not know this key; the nearest is "host"',
      'device 6 "Rack": config."dely_ms": driver sim does not know this key; the nearest is "delay_ms"',
    ],
  )
})

t.test('for zones: an address that the driver of their device cannot read', async (t) => {
  const device = [
    { name: 'Meter', driver: 'modbus-tcp', transport: { host: '10.0.0.9' } },
    { name: 'Off', driver: 'modbus-tcp', transport: { host: '10.0.0.9' }, enabled: false },
  ]
  const zone = [
    { name: 'Power', device_id: 1, address: '1/input/0' },
    { name: 'Lost', device_id: 1, address: 'x' },
    { name: 'Off', device_id: 2, address: 'x' },
  ]
  const [one, ...others] = told({ device, zone })
  t.match(one, /^zone 2 "Lost": the address of zone 2 has "x", expected .*: its commands are refused$/)
  t.strictSame(others, [])
})

t.test('for everything else: rows that nothing runs, reads or calls yet', async (t) => {
  t.same(
    told({
      site: [{ name: 'Mill', latitude: 52, longitude: 5 }],
      schedule: [
        { name: 'Dusk', kind: 'sunset' },
        { name: 'Never', kind: 'at', at: 'noon', enabled: false },
        { name: 'Noon', kind: 'at', at: 'noon', timezone: 'Europe/Paris' },
        { name: 'Night', kind: 'cron', cron: '0 22 * * *', timezone: 'Europe/Paris' },
      ],
      trigger: [
        { name: 'Door', kind: 'attribute', attribute_id: 1, condition: { op: '>', value: 3 } },
        { name: 'Bell', kind: 'webhook', secret: 'too short' },
        { name: 'Off', kind: 'webhook', enabled: false },
      ],
      zone: [
        { name: 'Paper', device_id: null },
        { name: 'Sent', device_id: null, overrides: { on: { zone_id: 3 } } },
        { name: 'Hall', device_id: 1 },
      ],
      auth_role: [
        { name: 'Staff', rules: 'allow api *\nallow socket state' },
        { name: 'Plain', rules: 'allow ui *' },
      ],
      av_zone: [{ name: 'Bar', max_volume: 60, default_volume: 20 }],
      auth_user: [{ username: 'ada', pin: '1234', must_change_password: true, rfid: null }],
      command: [
        { name: 'dim', args_schema: { pattern: 'a' } },
        { name: 'florp', args_schema: {} },
      ],
      macro: [{ name: 'Night' }, { name: 'Odd' }],
      macro_step: [
        { macro_id: 1, position: 1, type: 'command', zone_id: 3, command: 'florp' },
        { macro_id: 1, position: 2, type: 'command', zone_id: 3, command: 'glorp' },
        { macro_id: 2, position: 1, type: 'delay', args: { msec: 5 } },
      ],
    }).map((line) =>
      line.replace(/: args_schema.*: it is/, ': SCHEMA: it is').replace(/: step 1 has .*: it is/, ': STEP: it is'),
    ),
    [
      'zone 1 "Paper": it has no device: its commands are refused',
      'command 1 "dim": SCHEMA: it is refused',
      'macro 1 "Night": step 2: no row of command knows "glorp", it is sent as it stands',
      'macro 2 "Odd": STEP: it is refused',
      'schedule 1 "Dusk": the site has no timezone: it runs by UTC',
      'schedule 3 "Noon": at is "noon", expected a time such as 07:30: it does not run',
      'trigger 2 "Bell": secret has to have 16 characters at least: nobody can call it: it starts nothing',
      'auth_role 1 "Staff": it allows command and no UI that is enabled, so no zone is within reach: add allow ui',
      'auth_user 1 "ada": pin: an earlier version kept it, and nobody signs in with it: import it again',
    ],
  )
})

t.test('the log has one line, and none if everything has an effect', async (t) => {
  const lines: string[] = []
  const log = createLog({ level: 'debug', stream: { write: (line: string) => lines.push(line) } })
  logNotDriven(bookOf({ zone: [{ id: 1, name: 'Hall', device_id: 1 }] }), DRIVERS, log)
  t.equal(lines.length, 0)
  const schedule = Array.from({ length: 30 }, (_, at) => ({ id: at + 1, name: `S${at}`, kind: 'sunset' }))
  logNotDriven(bookOf({ schedule }), DRIVERS, log)
  t.equal(lines.length, 1)
  t.match(lines[0], /not_driven count=30 first="schedule 1/)
})

t.test(
  'roles that cannot do what they seem to allow are named, alone or with the others of who has them',
  async (t) => {
    const vain = (
      auth_role: object[],
      auth_user_role: object[] = [],
      ui: object[] = [{ name: 'Wall', enabled: true }],
    ) => told({ auth_role, auth_user_role, ui } as never).map((line) => line.split(':')[0])
    const command = { name: 'Command', rules: 'allow api command' }
    const pages = { name: 'Pages', rules: 'allow ui Wall' }
    const both = [
      { user_id: 1, role_id: 1 },
      { user_id: 1, role_id: 2 },
    ]
    t.same(vain([command]), ['auth_role 1 "Command"'])
    t.same(vain([command, pages], both), [], 'another role of the same user opens a UI')
    t.same(
      vain([command, pages], [...both, { user_id: 2, role_id: 1 }]),
      ['auth_role 1 "Command"'],
      'but not of this one',
    )
    t.same(vain([{ ...command, elevated: true }]), [])
    t.same(vain([{ name: 'Both', rules: 'allow api *\nallow ui Wall' }], [], [{ name: 'Wall', enabled: false }]), [
      'auth_role 1 "Both"',
    ])
    t.same(vain([{ name: 'Writer', rules: 'allow socket write' }]), ['auth_role 1 "Writer"'])
  },
)
