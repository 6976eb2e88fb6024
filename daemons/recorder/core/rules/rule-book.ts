/** The rules: making, changing and removing them, and arming them for a time. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { Action, Rule } from './rule.ts'

/** A webhook whose secret is not said keeps the one it has. */
export type ActionWish =
  | Exclude<Action, { type: 'webhook' }>
  | { type: 'webhook'; url: string; secret?: string | null | undefined }

export type RuleWish = Omit<Rule, 'id' | 'temporary' | 'actions'> & { actions: readonly ActionWish[] }

interface RuleBookParts {
  clock: Clock
  rules: readonly Rule[]
  /** Resolves once they are on disk. */
  save(rules: readonly Rule[]): Promise<void>
  newId(): string
  /** Refuses what cannot be done. @throws Fault `bad_rule` */
  check(rule: Rule, all: readonly Rule[]): void
  /** Key `rules.max`. */
  most: number
  /** They are others now. */
  onChange(): void
}

/** Each change throws Fault `store_write_failed` if it could not be saved; then nothing has changed. */
export interface RuleBook {
  list(): readonly Rule[]
  /** @throws Fault `unknown_rule` */
  require(id: string): Rule
  /** @throws Fault `too_many_rules`, `bad_rule` */
  add(wish: RuleWish): Promise<Rule>
  /** @throws Fault `unknown_rule`, `bad_rule` */
  change(id: string, wish: Partial<RuleWish>): Promise<Rule>
  /** @throws Fault `unknown_rule` */
  remove(id: string): Promise<Rule>
  /** Those that are gone are left out. @param minutes 0: until it is changed. @returns names of those that were there */
  arm(ids: readonly string[], armed: boolean, minutes: number): Promise<string[]>
}

export function createRuleBook(parts: RuleBookParts): RuleBook {
  const { check, clock, most, newId, onChange, save } = parts
  let rules = parts.rules
  const inTurn = createSerialTurn()

  async function put(next: readonly Rule[]): Promise<void> {
    await save(next)
    rules = next
    onChange()
  }

  function required(id: string): Rule {
    const found = rules.find((rule) => rule.id === id)
    if (!found) throw new Fault('unknown_rule', 'There is no rule with this id. GET /api/action-rules lists them.')
    return found
  }

  return {
    list: () => rules,
    require: required,
    add: (wish) =>
      inTurn(async () => {
        if (rules.length >= most)
          throw new Fault('too_many_rules', `There are ${rules.length} rules; rules.max allows ${most}.`)
        const rule = { ...wish, id: newId(), temporary: null, actions: withSecrets(wish.actions, []) }
        check(rule, rules)
        await put([...rules, rule])
        return rule
      }),
    change: (id, { actions, ...wish }) =>
      inTurn(async () => {
        const before = required(id)
        const rule = {
          ...{ ...before, ...wish },
          actions: actions ? withSecrets(actions, before.actions) : before.actions,
          // Who says it anew says it until it is changed.
          temporary: wish.armed === undefined ? before.temporary : null,
        }
        // What cannot be done any more, such as with a camera that is gone, can still be disarmed.
        if (actions || wish.armed !== false || Object.keys(wish).length > 1) check(rule, rules)
        await put(rules.map((one) => (one === before ? rule : one)))
        return rule
      }),
    remove: (id) =>
      inTurn(async () => {
        const removed = required(id)
        await put(rules.filter((one) => one !== removed))
        return removed
      }),
    arm: (ids, armed, minutes) =>
      inTurn(async () => {
        const until = clock.epochMs() + minutes * 60_000
        const change = minutes === 0 ? { armed, temporary: null } : { temporary: { armed, until } }
        await put(rules.map((rule) => (ids.includes(rule.id) ? { ...rule, ...change } : rule)))
        return rules.filter(({ id }) => ids.includes(id)).map(({ name }) => name)
      }),
  }
}

/**
 * The n-th webhook of a wish goes by the n-th one that there was.
 * @source interface document 3, A, Action rule
 * @throws Fault `bad_rule` where a saved secret would be used for another host, which could then sign as if it were the first
 */
function withSecrets(wishes: readonly ActionWish[], before: readonly Action[]): Action[] {
  const kept = before.flatMap((action) => (action.type === 'webhook' ? [action] : []))
  return wishes.map((wish, at) => {
    if (wish.type !== 'webhook') return wish
    const own = kept.shift()
    const { secret = own?.secret ?? null, url } = wish
    const isKept = wish.secret === undefined && secret !== null
    if (isKept && own && hostOf(own.url) !== hostOf(url))
      throw new Fault(
        'bad_rule',
        `Action ${at + 1} (webhook): the saved secret belongs to ${hostOf(own.url)} and is not used for another host. Enter the new secret, or remove it.`,
      )
    return { type: 'webhook', url, secret }
  })
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? ''
}
