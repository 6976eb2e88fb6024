/** Tests of api/ui-definition-routes.ts and core/drivers/definitions.ts. */
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { definitionFile } from '#kit/test/device/shipped-sets.ts'
import { createDefinitionDesk } from '../../core/drivers/definitions.ts'
import { type FakeDesks, filesOf } from '../fake-desks.ts'
import { harbourHouse } from '../harbour-house.ts'
import { signedIn } from './signed-in.ts'

const own = (more: object = {}) => ({ ...definitionFile('pjlink-class-1'), name: 'our-beamer', ...more })
const textOf = (definition: object) => JSON.stringify(definition, null, 2)

t.test('definitions are edited by elevated sessions only; their schema is for anyone', async (t) => {
  const { browser, house } = await signedIn(t, 'ada')
  for (const [method, path, body] of [
    ['GET', '/ui/definitions'],
    ['GET', '/ui/definitions/open?name=denon-avr'],
    ['POST', '/ui/definitions/check', { text: '' }],
    ['POST', '/ui/definitions/save', { text: '', revision: null }],
    ['POST', '/ui/definitions/remove', { name: 'denon-avr' }],
    ['GET', '/ui/devices/traffic?device=1'],
  ] as const)
    t.match(await browser.call(method, path, body), { status: 403, body: { error: 'not_elevated' } }, path)
  t.equal(house.definitions.size, 0)
  t.match(await browser.call('GET', '/ui/definitions/schema'), { status: 200, body: { properties: { commands: {} } } })
})

t.test('each fault has its line, and a text that is no JSON the place where it ends', async (t) => {
  const { browser } = await signedIn(t)
  const check = async (text: string) => (await browser.call('POST', '/ui/definitions/check', { text })).body
  t.match(await check(textOf(own())), { name: 'our-beamer', faults: [], tests: Number })
  const text = textOf(own()).replace('%1POWR {power}', '%1POWR {powr}')
  const line = text.split('\n').findIndex((each) => each.includes('{powr}')) + 1
  t.match(await check(text), {
    name: null,
    tests: null,
    faults: [{ path: 'commands.power.args.power' }, { line, path: 'commands.power.send' }],
  })
  const tests = [{ command: 'power', args: { power: true }, sends: 'wrong' }, ...own().tests]
  t.match(await check(textOf(own({ tests }))), { faults: [{ path: 'tests[0]', message: /expected 77 72 6F 6E 67/ }] })
  t.match(await check('{\n  "format": 1,\n  "name" 2}'), { faults: [{ line: 3, message: /not JSON/ }] })
  t.match(await check('{ "no word": 1 }'), { faults: { length: 11 } }, 'a key that is no word')
  t.match(await check(''), { faults: [{ line: 1, message: /not JSON/ }] })
})

t.test('one is kept under its name, by whoever has seen the last', async (t) => {
  const { browser, house } = await signedIn(t)
  const save = (text: string, revision: string | null) =>
    browser.call('POST', '/ui/definitions/save', { text, revision })
  const first = await save(textOf(own()), null)
  t.match(first, { status: 200, body: { name: 'our-beamer', own: true } })
  t.match(await save(textOf(own()), null), { status: 409, body: { error: 'definition_changed' } })
  const second = await save(textOf(own({ title: 'Two' })), String(first.body.revision))
  t.equal(second.status, 200)
  t.equal((await save(textOf(own({ title: 'Three' })), String(first.body.revision))).status, 409)
  t.match(await save(textOf(own({ name: 'Not a name' })), null), { status: 422, body: { error: 'definition_invalid' } })
  t.equal((await save(textOf(own({ name: 'another' })), null)).status, 200)
  t.match(await save(textOf(own({ name: 'third' })), null), { status: 507, body: { error: 'definition_not_kept' } })
  t.same([...house.definitions.keys()], ['our-beamer', 'another'])
  t.match((await browser.call('GET', '/ui/definitions/open?name=our-beamer')).body, {
    text: textOf(own({ title: 'Two' })),
  })
})

t.test('when two people save one definition at once, one save is kept and the other is refused', async (t) => {
  const house = harbourHouse()
  const save = async (definition: object, revision: string | null) =>
    house.parts.definitions.save(textOf(own(definition)), revision).catch((fault) => fault)
  const { revision } = await save({}, null)
  const two = await Promise.all([save({ title: 'Two' }, revision), save({ title: 'Three' }, revision)])
  t.match(two, [{ text: textOf(own({ title: 'Two' })) }, { code: 'definition_changed' }])
  t.equal(house.definitions.get('our-beamer'), textOf(own({ title: 'Two' })))
  const more = await Promise.all(['another', 'third'].map((name) => save({ name }, null)))
  t.match(more, [{ name: 'another' }, { code: 'definition_not_kept' }], 'no more than may be kept')
})

t.test('an own one is removed, and that of the package is not', async (t) => {
  const { browser, house } = await signedIn(t)
  house.definitions.set('denon-avr', textOf(definitionFile('denon-avr')))
  const listed = async () => {
    const { definitions } = (await browser.call('GET', '/ui/definitions')).body as { definitions: { name: string }[] }
    return definitions.find(({ name }) => name === 'denon-avr')
  }
  t.match(await listed(), { own: true, flaw: null })
  t.equal((await browser.call('POST', '/ui/definitions/remove', { name: 'denon-avr' })).status, 200)
  t.match(await listed(), { own: false, title: 'Denon AV receiver' })
  t.match(await browser.call('POST', '/ui/definitions/remove', { name: 'denon-avr' }), { status: 422 })
  t.match(await browser.call('GET', '/ui/definitions/open?name=..%2Fx'), { status: 400 })
})

t.test('one that cannot be read is in the list, harms no other, and can be removed', async (t) => {
  const house = harbourHouse()
  const { files, desk, loaded } = deskOver(house)
  house.definitions.set('broken', '')
  const source = files.source
  files.source = (name) => {
    if (name === 'broken') throw new Fault('definition_invalid', 'the file is a link')
    return source(name)
  }
  const listed = () => desk.list().find(({ name }) => name === 'broken')
  t.match(listed(), { own: true, flaw: 'the file is a link' })
  await desk.save(textOf(own()), null)
  const before = loaded()
  desk.list()
  t.equal(loaded() - before, 1, 'only the new one is read through')
  desk.list()
  t.equal(loaded() - before, 1, 'nothing is, while no text changes')
  await desk.remove('broken')
  t.equal(listed(), undefined)
})

/** A desk over the files of a house, that counts how often a text is read through. */
function deskOver(house: FakeDesks) {
  let count = 0
  const files = filesOf(house)
  const { load } = files
  files.load = (text) => {
    count++
    return load(text)
  }
  const book = { rows: () => [] }
  return { files, loaded: () => count, desk: createDefinitionDesk({ files, book, reopen: () => {}, most: 2 }) }
}

t.test('a device whose command set has the name is one that uses it', async (t) => {
  const { browser, house } = await signedIn(t)
  house.change('device', [{ id: 1, name: 'Beamer', command_set: 'pjlink-class-1', driver: null }])
  t.match((await browser.call('GET', '/ui/definitions/open?name=pjlink-class-1')).body, {
    own: false,
    devices: [{ id: 1, name: 'Beamer' }],
  })
  t.match(await browser.call('GET', '/ui/devices/traffic?device=1'), { body: { entries: [], lane: null } })
  t.equal((await browser.call('GET', '/ui/devices/traffic?device=9')).status, 400)
})
