import fc from 'fast-check'
import t from 'tap'
import { isElevated, mayDo, parseRoleRules, rulesOf, uisOf } from '../../../core/access/accounts.ts'
import type { Row } from '../../../core/site/book.ts'

/** Any UTF-16 units, including lone surrogates and NUL. */
const anyText = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units))

const role = (rules: string, id = 1): Row => ({ id, rules })
const FUNCTIONS = ['command', 'macro', 'query']
const allowedBy = (...rules: string[]) => FUNCTIONS.filter((what) => mayDo(rules.map(role), 'api', what))

for (const [what, rules, allowed] of [
  ['no role allows nothing', [], []],
  ['no rule allows nothing', [''], []],
  ['allow names functions', ['allow api command, query'], ['command', 'query']],
  ['* allows every function', ['allow api *'], FUNCTIONS],
  ['* does not allow what is denied', ['allow api *\ndeny api macro'], ['command', 'query']],
  ['deny wins whichever comes first', ['deny api macro\nallow api macro'], []],
  ['deny in one role wins over allow in another', ['allow api *', 'deny api command'], ['macro', 'query']],
  ['deny * allows nothing', ['allow api command\ndeny api *'], []],
  ['roles add up', ['allow api command', 'allow api query'], ['command', 'query']],
  ['a deny of an unknown function takes nothing away', ['allow api *\ndeny api delete_macro'], FUNCTIONS],
  ['other lists allow no function', ['allow ui command\nallow socket *'], []],
  ['words and functions can be in capitals', ['Allow API Command\nDENY api QUERY\nallow api query'], ['command']],
  [
    'blanks, tabs and line ends of other systems are nothing',
    ['\r\n\t allow\tapi  command ,query\r\r\nallow api macro'],
    FUNCTIONS,
  ],
  ['names are split at commas only', ['allow api command query'], []],
  ['empty names do not count', ['allow api ,, ,command,'], ['command']],
  ['a comment says nothing', ['# allow api command\n  #allow api macro'], []],
  ['a line that is not a rule allows nothing', ['allow\nallow api\npermit api *\nallow apis *\n*\nallow:api:*'], []],
] as [string, string[], string[]][])
  t.test(`1 Authentication 7: ${what}`, (t) => {
    t.strictSame(allowedBy(...rules), allowed)
    t.end()
  })

const ON_SOCKET = ['command', 'macro', 'query', 'subscribe', 'set_attribute', 'write']
const onSocket = (...rules: string[]) => ON_SOCKET.filter((what) => mayDo(rules.map(role), 'socket', what))

for (const [what, rules, allowed] of [
  [
    'without a line for it, what REST allows, and hearing',
    ['allow api command, query'],
    ['command', 'query', 'subscribe'],
  ],
  ['a role without any rule hears, as its page shows', [''], ['subscribe']],
  ['no role allows nothing', [], []],
  ['* of REST allows no writing', ['allow api *'], ['command', 'macro', 'query', 'subscribe']],
  ['what REST denies is denied', ['allow api *\ndeny api macro'], ['command', 'query', 'subscribe']],
  ['deny socket takes away what REST allows', ['allow api *\ndeny socket macro, subscribe'], ['command', 'query']],
  ['with a line for it, that alone counts', ['allow api *\nallow socket command'], ['command']],
  ['and needs no rule of REST', ['allow socket macro, subscribe\ndeny api macro'], ['macro', 'subscribe']],
  ['* allows everything', ['allow socket *'], ON_SOCKET],
  ['* without those denied', ['allow socket *\ndeny socket write'], ON_SOCKET.filter((what) => what !== 'write')],
  ['roles add up', ['allow api query', 'allow socket write'], ['query', 'subscribe', 'write']],
  [
    'deny in one role wins',
    ['allow socket *', 'deny socket query, set_attribute'],
    ['command', 'macro', 'subscribe', 'write'],
  ],
] as [string, string[], string[]][])
  t.test(`rules for the socket: ${what}`, (t) => {
    t.strictSame(onSocket(...rules), allowed)
    t.strictSame(
      FUNCTIONS.filter((name) => mayDo(rules.map(role), 'api', name)),
      allowedBy(...rules.map((rule) => rule.replace(/^.* socket .*$/gm, ''))),
      'and none of them counts for REST',
    )
    t.end()
  })

t.test('a misspelt function of the socket is named', (t) => {
  t.match(parseRoleRules('allow socket subscripe').faults, [/did you mean subscribe\?/])
  t.strictSame(parseRoleRules('allow socket set_attribute, write, other_thing').faults, [])
  t.end()
})

const UIS: Row[] = [
  { id: 1, name: 'Ground floor', enabled: true },
  { id: 2, name: '3', enabled: true },
  { id: 3, name: 'Roof', enabled: true },
  { id: 4, name: 'Old', enabled: false },
  { id: 5, name: '*', enabled: true },
]

for (const [what, rules, ids] of [
  ['no line allows no UI', ['allow api *'], []],
  ['ids and names, with blanks in them', ['allow ui 3, Ground floor'], [1, 3]],
  ['digits are an id and no name', ['allow ui 3'], [3]],
  ['leading zeros are still an id', ['allow ui 003'], [3]],
  ['* is every one that is switched on', ['allow ui *'], [1, 2, 3, 5]],
  ['* without those denied', ['allow ui *\ndeny ui Roof, 1'], [2, 5]],
  ['deny in one role wins over allow in another', ['allow ui *', 'deny ui *'], []],
  ['names are case-sensitive', ['allow ui roof'], []],
  ['a name that nothing has is nothing', ['allow ui __proto__, constructor, 99, -1, 1.0'], []],
] as [string, string[], number[]][])
  t.test(`1 POST /api/control, scope: ${what}`, (t) => {
    const seen = uisOf(rules.map(role), UIS).map(({ id }) => id)
    t.strictSame(seen, ids)
    t.end()
  })

t.test('lines without meaning are reported by number, with what was probably meant', (t) => {
  const { faults } = parseRoleRules(
    'allow api command\nalow api macro\nallow apii macro\nallow ui\n\nallow api querry\ndeny api delete_macro, open_door',
  )
  t.strictSame(faults, [
    'line 2: has "alow", expected allow or deny; did you mean allow?',
    'line 3: has "apii", expected api, ui or socket; did you mean api?',
    'line 4: names nothing to allow',
    'line 6: names "querry"; did you mean query?',
  ])
  t.end()
})

t.test('a hundred thousand lines of rubbish give twenty reports, and quickly', (t) => {
  t.equal(parseRoleRules('\u0000\n'.repeat(100_000)).faults.length, 20)
  t.end()
})

t.test('any text is read, and allows nothing unless one of its lines says so', (t) => {
  fc.assert(
    fc.property(anyText, (text) => {
      const { lists } = parseRoleRules(text)
      const isSaid = /^\s*allow\s+(api|ui|socket)\s/im.test(text)
      return isSaid || [lists.api, lists.ui, lists.socket].every(({ allow }) => allow.size === 0)
    }),
    { numRuns: 100 },
  )
  t.end()
})

t.test('a row is read once, and a row without rules has none', (t) => {
  const row = role('allow api *')
  t.equal(rulesOf(row), rulesOf(row))
  t.equal(mayDo([{ id: 1, rules: null }], 'api', 'query'), false)
  t.end()
})

t.test('1 POST /api/control: a session is elevated if one of its roles is', (t) => {
  t.equal(isElevated([]), false)
  t.equal(isElevated([{ id: 1, elevated: false }, { id: 2 }]), false)
  t.equal(isElevated([{ id: 1, elevated: 'yes' }]), false)
  t.equal(
    isElevated([
      { id: 1, elevated: false },
      { id: 2, elevated: true },
    ]),
    true,
  )
  t.end()
})
