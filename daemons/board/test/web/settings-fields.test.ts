/** Tests of the settings form as the page understands it, with the form that the board itself makes. */
import t from 'tap'
import { boardSettings } from '../../core/settings/settings.ts'
import {
  changedOf,
  configBody,
  configValues,
  consequence,
  groupsFor,
  hiddenFaults,
  labelOf,
} from '../../web/settings-page.ts'
import { fakeConfig, fakeForm } from '../fake-states.ts'

const form = fakeForm()
const saved = configValues(fakeConfig(), form)
const names = (role: string, more = {}): string[] =>
  groupsFor(form, { ...saved, role, ...more }).flatMap(({ fields }) => fields.map(({ name }) => name))

t.test('has every setting of the board, with a readable name', async (t) => {
  t.same(
    form.groups.flatMap(({ fields }) => fields.map(({ name }) => name)),
    boardSettings.map(({ name }) => name),
  )
  for (const { name } of boardSettings) t.notMatch(labelOf(name), /_/, name)
  t.equal(labelOf('usb_device'), 'Usb device', 'a setting of a newer board is shown by its own name')
})

t.test('shows the settings of the chosen role, and an address only if it is fixed', async (t) => {
  t.ok(names('serial').includes('serial_devices'))
  t.notOk(names('serial').includes('mcast'))
  t.ok(names('encoder').includes('mcast'))
  t.notOk(names('usbip').includes('serial_devices'))
  t.ok(names('serial', { static_ip: true }).includes('mask'))
  t.notOk(names('serial', { static_ip: false }).includes('mask'))
  t.notOk(groupsFor(form, { ...saved, role: 'usbip' }).some(({ fields }) => fields.length === 0))
})

t.test('B.rules.3 sends back everything that was read, with the changes', async (t) => {
  const config = { ...fakeConfig(), of_a_newer_board: 7 }
  const body = configBody(config, { ...configValues(config, form), name: 'Roof', sap: false })
  t.match(body, { name: 'Roof', sap: false, static_ip: true, port: '5004', of_a_newer_board: 7 })
  t.same(changedOf({ ...saved, name: 'Roof' }, saved), ['name'])
})

t.test('says what a save will do before it does', async (t) => {
  const after = (change: object, isOwned = true): string => consequence({ ...saved, ...change }, saved, isOwned)
  t.equal(after({}), 'Nothing is changed.')
  t.match(after({ name: 'Roof' }), /^Saves and restarts the machine;/, 'all of it, if it is the board’s own')
  t.match(after({ name: 'Roof' }, false), /^Saves and restarts;/)
  t.match(after({ role: 'usbip' }), /restarts the machine, and is a USB server then/)
  t.match(after({ ip: '10.20.4.12' }), /moves to 10\.20\.4\.12; this page follows\. .* two minutes/)
  t.match(after({ hostname: 'roof' }), /follows to the new name/)
  t.match(after({ static_ip: false }), /this page follows/)
  t.match(after({ ip: '10.20.4.12' }, false), /Address is kept; this machine's network is set elsewhere/)
})

t.test('a refusal of a field that is not shown is put into words', async (t) => {
  const faults = { mask: 'It has gaps.', port: 'Port 80 is taken.' }
  t.same(hiddenFaults(faults, ['mask']), ['Port: Port 80 is taken.'])
  t.same(hiddenFaults(faults, ['mask', 'port']), [])
})
