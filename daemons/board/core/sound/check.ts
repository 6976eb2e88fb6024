/** A chain of checks from the cause of sound to its effect: the first that is broken is why it is silent. */

/**
 * - `ok` as it should be
 * - `warn` not as it should be, and sound goes on
 * - `fault` broken: there is no sound because of it
 * - `off` somebody wants it so
 * - `not_judged` something before it is broken, or nothing is known yet
 */
export type CheckState = 'ok' | 'warn' | 'fault' | 'off' | 'not_judged'

/** One link of the chain, as the status has it. */
export interface Check<Name extends string = string> {
  name: Name
  state: CheckState
  /** For programs: why it is not `ok`, or what is special about it; null where there is nothing to say. */
  code: string | null
  /** One sentence with numbers and names; empty where it was not judged. */
  text: string
}

/** What judging one link comes to. */
export type Judgement = Omit<Check, 'name'>

/** @param judges in the order of the chain; those behind the first broken link are not asked */
export function judgeChain<Name extends string>(judges: readonly (readonly [Name, () => Judgement])[]): Check<Name>[] {
  let isBroken = false
  return judges.map(([name, judge]) => {
    const judgement = isBroken ? NOT_JUDGED : judge()
    isBroken ||= judgement.state !== 'ok' && judgement.state !== 'warn'
    return { name, ...judgement }
  })
}

const NOT_JUDGED: Judgement = { state: 'not_judged', code: null, text: '' }

/** Why nothing is heard: the link at which the chain ends; undefined where it is whole. */
export function brokenCheck<Name extends string>(checks: readonly Check<Name>[]): Check<Name> | undefined {
  return checks.find(({ state }) => state !== 'ok' && state !== 'warn')
}
