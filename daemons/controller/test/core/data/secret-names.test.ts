/** No session without elevation sees a secret under any sensitive name, in any spelling and place. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import type { Session } from '../../../core/access/accounts.ts'
import { answerData } from '../../../core/data/answer-data.ts'
import { registryFace } from '../../../core/data/views.ts'
import type { Json } from '../../../core/json.ts'
import { bodyText } from '../../../core/json.ts'
import { tables } from '../../../core/site/registry.ts'
import { elevatedCaller, plainCaller, worldOf } from './data-house.ts'

const schema = registryFace()

/**
 * The words in sensitive names, and every secret-bearing column. @source document 1, Secret-bearing columns, Guards 5
 */
const WORDS = (
  'password passwd pwd passphrase secret token key pin hash salt credential pass bearer jwt rfid duress_pin ' +
  'two_factor_token push_subscription private_key api_key bearer_token credential_hash session_key integration_key ' +
  'signing_key push_signing_key sftp_password'
).split(' ')
const INNOCENT = ['passage', 'compass', 'pinsetter', 'tokenless', 'monkey', 'keypad', 'hashtag', 'low_pass', 'bypass']

const capital = (word: string) => `${word[0]?.toUpperCase()}${word.slice(1)}`
const SPELLINGS: readonly ((words: string[]) => string)[] = [
  (words) => words.join('_'),
  (words) => words.join('_').toUpperCase(),
  (words) => words.map((word, at) => (at === 0 ? word : capital(word))).join(''),
  (words) => words.map(capital).join(''),
  (words) => words.map(capital).join(' '),
  (words) => words.join('-'),
  (words) => words.join('.'),
  (words) => `${words.join('_')}2`,
  (words) => `old ${words.join(' ')}`,
  (words) => words.join(' ').replace(/[a-z]/g, (sign) => String.fromCodePoint((sign.codePointAt(0) ?? 0) + 0xfee0)),
]
/** Plurals: `hashes`, `passes`, `keys`. */
const PLURALS = [(name: string) => name, (name: string) => `${name}${/(?:sh|ss)$/.test(name) ? 'es' : 's'}`]

const name = fc
  .record({
    word: fc.constantFrom(...WORDS),
    plural: fc.constantFrom(...PLURALS),
    spell: fc.constantFrom(...SPELLINGS),
  })
  .map(({ word, plural, spell }) => spell(plural(word).split('_')))

const MARK = 'elevated-only'
const held = fc.constantFrom<Json>(MARK, [MARK], { x: MARK }, { a: [{ b: MARK }] }, [[MARK]])
/** A value under a sensitive name. */
const secret = fc.tuple(name, held, fc.nat(3)).map(([name, value, form]): Json => {
  if (form === 1) return { name, value }
  if (form === 2) return [[name, value]]
  if (form === 3) return { header: name, old_values: [value], index: 1 }
  return { [name]: value, open: 1 }
})
/** The same at a deeper level, as JSON or as JSON text. */
const nested = fc
  .tuple(secret, fc.array(fc.constantFrom('key', 'list', 'text'), { maxLength: 4 }))
  .map(([inside, ways]) =>
    ways.reduce((value: Json, way): Json => {
      if (way === 'list') return [1, value]
      return way === 'text' ? JSON.stringify({ inner: value }) : { inner: value }
    }, inside),
  )

/** Columns that a session without elevation may read: JSON, and texts that may contain JSON. */
const PLACES = tables().flatMap(({ name: table, columns }) =>
  columns.flatMap(({ name: column, type, choices, isSecret = false }) => {
    const isFree = (type === 'json' || (type === 'text' && choices === undefined)) && column !== 'name'
    return schema.table(table)?.isReadable === true && isFree ? [{ table, column, type, isSecret }] : []
  }),
)
const questions = fc.constantFrom('', '_instance=true', '_orderby=name', '_fields=["name"]', '_notequal[id]=9')

function read(caller: Session, { table, query, row }: { table: string; query: string; row: Record<string, Json> }) {
  const about: Record<string, Json> =
    table === 'attribute' ? { secure: false, system_target: 'zone', target_id: 1 } : {}
  const world = worldOf(
    { [table]: [{ id: 1, name: 'mode', ...about, ...row }] },
    { schema, zones: { 1: { state: 'on', ...(table === 'zone' ? row : {}) } } },
  )
  void answerData(world, elevatedCaller, table, query)
  const outcome = answerData(world, caller, table, query)
  if (outcome instanceof Promise) throw new Error('an answer from memory came late')
  return bodyText(outcome.body)
}

t.test('1 Guards 5 the tables with free values are among those tested', async (t) => {
  const names = PLACES.map(({ table, column }) => `${table}.${column}`)
  for (const place of [
    ...['device.transport', 'device.config', 'zone.overrides', 'channel.command_args', 'ui_page_ui.layout'],
    ...['ui_page_widget.options', 'ui_control.options', 'ui_theme.tokens', 'command.args_schema', 'attribute.value'],
  ])
    t.ok(names.includes(place), place)
})

t.test('1 Guards 2, 3, 5 no answer to a session that is not elevated has a value under a sensitive name', async (t) => {
  const law = fc.property(nested, fc.constantFrom(...PLACES), questions, (value, { table, column, type }, query) => {
    const kept = type === 'json' ? value : JSON.stringify(value)
    return !read(plainCaller, { table, query, row: { [column]: kept } }).includes(MARK)
  })
  holds(t, law, { numRuns: Number(process.env.CASES ?? 1500) })
})

t.test('1 Guards 2 no attribute of such a name shows its value', async (t) => {
  const law = fc.property(name, (name) => {
    const row = { name, value: MARK, previous_value: MARK }
    return !read(plainCaller, { table: 'attribute', query: '', row }).includes(MARK)
  })
  holds(t, law, { numRuns: 600 })
})

t.test('1 Guards 3 a name that only looks sensitive is shown, in every table', async (t) => {
  for (const { table, column, type } of PLACES.filter(({ isSecret }) => !isSecret))
    for (const word of INNOCENT) {
      const value = { [word]: MARK, list: [{ name: word, value: MARK }] }
      const kept = type === 'json' ? value : JSON.stringify(value)
      const said = read(plainCaller, { table, query: '', row: { [column]: kept } })
      t.equal(said.split(MARK).length, 3, `${table}.${column} ${word}`)
    }
})

t.test('1 Secret-bearing columns flags with such a name are shown, and can be queried', async (t) => {
  t.equal(schema.isSecretName('must_change_password'), false)
  t.match(
    read(plainCaller, { table: 'channel', query: 'favourite=true', row: { favourite: true } }),
    /"favourite":true/,
  )
})
