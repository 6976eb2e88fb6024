/** A device by its definition, in the built controller: a projector with a password, over the REST surface. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openProjector } from '#kit/test/device/projector.ts'
import { definitionFile } from '#kit/test/device/shipped-sets.ts'
import { until } from '#kit/test/until.ts'
import { openRestSite } from './rest-site.ts'

t.test('the built controller and devices by definition', async (t) => {
  const projector = await openProjector(t, 'JBMIAProjectorLink')
  const transport = { kind: 'tcp', host: '127.0.0.1', port: projector.port }
  const site = await openRestSite(t, {
    rows: {
      device: [
        {
          id: 1,
          name: 'Projector',
          command_set: 'pjlink-class-1',
          transport,
          password: 'JBMIAProjectorLink',
          poll_ms: 100,
        },
        { id: 2, name: 'Own', command_set: 'own-projector', transport: { kind: 'tcp', host: '127.0.0.1', port: 9 } },
        { id: 3, name: 'Typo', command_set: 'pjlink-clas-1', transport },
        { id: 4, name: 'Spare', driver: 'sim' },
        { id: 5, name: 'Other', driver: 'sim' },
      ],
      zone: [{ id: 1, name: 'Hall', device_id: 1, min: 0, max: 100 }],
      command: [],
      ui_zone: [],
      av_zone: [],
      macro_step: [],
      attribute: [],
    },
  })
  const own = definitionFile('pjlink-class-1')
  mkdirSync(join(site.stateFolder, 'definitions'))
  writeFileSync(
    join(site.stateFolder, 'definitions/own-projector.json'),
    JSON.stringify({ ...own, name: 'own-projector' }),
  )
  const token = await site.tokenOf('ada')
  const instance = async () => (await site.get('/api/data/zone?id=1&_instance=true', token)).body[0]

  await t.test('what the projector says is the state of its zone', async (t) => {
    await until('it was signed in to and asked', async () => (await instance()).power === 'standby')
    projector.state.POWR = '3'
    await until('a change is seen', async () => (await instance()).power === 'warming')
    t.ok(projector.commands.includes('%1POWR ?'))
  })

  await t.test('a command reaches the projector, in shorthand too', async (t) => {
    const full = await site.post('/api/control/command', { zone_id: 1, command: 'power', args: { power: true } }, token)
    t.strictSame([full.status, full.body], [200, { success: true, zone_id: 1, command: 'power' }])
    t.equal(projector.state.POWR, '1')
    const short = await site.post('/api/control/command', { zone: 'Hall', input: 'digital2' }, token)
    t.match(short.body, { success: true, answer: { input: 'digital2' } })
    t.equal(projector.state.INPT, '32')
    const other = await site.post(
      '/api/control/command',
      { zone: 'Hall', command: 'POWER', args: { power: 'off' } },
      token,
    )
    t.match(other.body, { success: true }, 'spelled in other letters')
    t.equal(projector.state.POWR, '0')
  })

  await t.test('a refusal by the projector is its failure, in words', async (t) => {
    const { status, body } = await site.post('/api/control/command', { zone: 'Hall', input: 'digital1' }, token)
    t.equal(status, 200)
    t.match(body, { success: false, error: /refuses input: it is not possible now/ })
  })

  await t.test('a verb that the set does not know is 400 with the nearest, and so are wrong args', async (t) => {
    const before = projector.commands.filter((line) => !line.endsWith('?')).length
    const verb = await site.post('/api/control/command', { zone_id: 1, command: 'powr' }, token)
    t.strictSame([verb.status, verb.body.error], [400, 'unknown command'])
    t.match(verb.body.message, /the nearest is power/)
    const args = await site.post(
      '/api/control/command',
      { zone_id: 1, command: 'input', args: { input: 'hdmi1' } },
      token,
    )
    t.strictSame([args.status, args.body.error], [400, 'invalid args'])
    t.match(await site.recordOf(verb), { reason: 'bad_command' })
    t.equal(projector.commands.filter((line) => !line.endsWith('?')).length, before, 'nothing was sent')
  })

  await t.test('an owner’s definition is found in the state folder, and one that there is not says so', async (t) => {
    const verb = await site.post('/api/control/command', { device_id: 2, command: 'powr' }, token)
    t.match(verb.body.message, /own-projector knows no command "powr"; the nearest is power/)
    const typo = await site.post(
      '/api/control/command',
      { device_id: 3, command: 'power', args: { power: true } },
      token,
    )
    t.match(typo.body, { success: false, error: /no definition "pjlink-clas-1"; the nearest is pjlink-class-1/ })
  })
})
