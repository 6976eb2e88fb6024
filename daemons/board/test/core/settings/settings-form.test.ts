import t from 'tap'
import { checkSettings } from '../../../core/settings/book.ts'
import { type BoardSettings, boardSettings, firstSettings, settingsForm } from '../../../core/settings/settings.ts'

const first = firstSettings({ role: 'serial', hostname: 'board-7', mcast: '239.69.10.4' })
const CONTRACT = 'role hostname name mcast port channels link_ms ext_link_ms ptp_priority1 sap static_ip ip mask gw'

t.test('B.resources every setting of the interface exists', async (t) => {
  const names = boardSettings.map(({ name }) => name)
  t.same(
    CONTRACT.split(' ').filter((name) => !names.includes(name)),
    [],
  )
  t.same(Object.keys(first).sort(), [...names].sort(), 'and each has a default')
})

t.test('a freshly flashed board has settings that pass its own check', async (t) => {
  const form = Object.fromEntries(Object.entries(first).map(([name, value]) => [name, String(value)]))
  t.same(checkSettings(form, first, { httpPort: 80 }), { settings: first, changed: [], switchedOff: [] })
})

t.test('the form has every setting once, in groups, with its limits, its default and its present value', async (t) => {
  const now: BoardSettings = { ...first, link_ms: 5 }
  const { groups } = settingsForm(now, first)
  t.same(
    groups.map(({ title }) => title),
    ['Name', 'Role', 'Network', 'Audio', 'Lines', 'Clock'],
  )
  const fields = groups.flatMap((group) => group.fields)
  t.same(fields.map(({ name }) => name).sort(), Object.keys(first).sort())
  t.strictSame(
    fields.find(({ name }) => name === 'link_ms'),
    {
      name: 'link_ms',
      kind: 'number',
      default: 10,
      value: 5,
      min: 0.25,
      max: 2000,
      decimals: 2,
      unit: 'ms',
      meaning: 'Time from the sample at the sender to its sound here, equal in all decoders that play together.',
      roles: ['decoder'],
    },
  )
  t.match(
    fields.find(({ name }) => name === 'role'),
    { choices: ['encoder', 'decoder', 'serial', 'usbip'] },
  )
  for (const { name, meaning } of fields) t.match(meaning, /^[A-Z].*\.$/, `${name} has a sentence`)
})
