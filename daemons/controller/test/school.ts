/** A school: classrooms with a teacher's zones, an office with others, a projector that nothing answers for. */
import { PASSWORD } from './operating.ts'

const zone = (name: string, room: string, type: string, more: object = {}) => ({
  ...{ name, zone_group_id: room, type, device_id: 'Bus', address: name },
  ...more,
})
const value = (zoneName: string, name: string, said: string) => ({
  ...{ system_target: 'zone', target_id: zoneName, name, value: said },
})
const person = (username: string, role: string, more: object = {}) => ({
  ...{ username, password: PASSWORD, roles: [role], sites: ['Hill School'] },
  ...more,
})

/** As a site file. `ada` is the administrator; `tess`, `otto` and `mona` teach, `vic` is in the office. */
export const school = {
  site: [{ name: 'Hill School', timezone: 'Europe/Amsterdam' }],
  zone_group: [
    { id: 1, name: 'Ground floor', position: 1 },
    { id: 2, name: 'Classroom 1', parent_id: 'Ground floor', position: 1 },
    { id: 3, name: 'Hall', parent_id: 'Ground floor', position: 2 },
    { id: 4, name: 'Office', parent_id: 'Ground floor', position: 3 },
  ],
  device: [
    { name: 'Bus', driver: 'sim' },
    // Port 9 of the machine itself: nothing listens there.
    { name: 'Beamer', driver: 'tcp', transport: { kind: 'tcp', host: '127.0.0.1', port: 9 } },
  ],
  zone: [
    zone('Ceiling', 'Classroom 1', 'dimmer', { position: 1 }),
    zone('Board lights', 'Classroom 1', 'switch', { position: 2 }),
    zone('Heat', 'Classroom 1', 'thermostat', { position: 3, unit: '°C', min: 15, max: 25 }),
    zone('Blinds', 'Classroom 1', 'blind', { position: 4 }),
    zone('Projector', 'Classroom 1', 'switch', { position: 5, device_id: 'Beamer' }),
    zone('Hall lights', 'Hall', 'dimmer', { position: 1 }),
    zone('Desk lamp', 'Office', 'dimmer', { position: 1 }),
  ],
  attribute: [
    value('Ceiling', 'state', 'on'),
    value('Ceiling', 'level', '60'),
    value('Board lights', 'state', 'off'),
    value('Heat', 'temperature', '20.5'),
    value('Heat', 'setpoint', '21'),
    value('Blinds', 'position', '30'),
    value('Hall lights', 'level', '0'),
    value('Desk lamp', 'level', '10'),
  ],
  macro: [
    { name: 'Lesson', description: 'Lights on, blinds down' },
    { name: 'Home time', description: 'Everything off' },
  ],
  macro_step: [
    { macro_id: 'Lesson', position: 1, zone_id: 'Board lights', command: 'on' },
    { macro_id: 'Home time', position: 1, zone_id: 'Ceiling', command: 'off' },
  ],
  ui: [
    { id: 1, name: 'Teachers' },
    { id: 2, name: 'Office' },
  ],
  ui_zone_group_ui: [
    { ui_id: 'Teachers', zone_group_id: 'Classroom 1' },
    { ui_id: 'Teachers', zone_group_id: 'Hall' },
    { ui_id: 'Office', zone_group_id: 'Office' },
  ],
  ui_macro: [
    { ui_id: 'Teachers', macro_id: 'Lesson', position: 1 },
    { ui_id: 'Teachers', macro_id: 'Home time', position: 2 },
  ],
  auth_role: [
    { name: 'Administrator', elevated: true, rules: ['allow api *', 'allow ui *', 'allow socket *'] },
    { name: 'Teacher', rules: ['allow api command, macro, query', 'allow ui Teachers'] },
    { name: 'Office', rules: ['allow api command, macro, query', 'allow ui Office'] },
  ],
  auth_user: [
    person('ada', 'Administrator'),
    person('tess', 'Teacher', { full_name: 'Tess Bakker', pin: '471147114711' }),
    person('otto', 'Teacher'),
    person('mona', 'Teacher', { must_change_password: true }),
    person('vic', 'Office'),
  ],
}
