/** The world of one run in the running controller: ports of the daemon, its caller, and the engine for what it calls. */
import { Fault } from '#kit/fault.ts'
import type { Json } from '../row.ts'
import type { Session } from '../session.ts'
import { type MacroArgs, makeArgs } from './args.ts'
import { argsFaults, withDefaults } from './args-schema.ts'
import type { Doer, Done } from './doer.ts'
import { failureOf } from './perform.ts'
import type { MacroPlan } from './plan.ts'
import type { MacroPorts } from './ports.ts'
import type { Answer } from './trace.ts'

/** Whose run it is. */
export interface Running {
  readonly caller: Session | null
  readonly macroId: number
  /** Once it runs it has one. */
  readonly runId: number
}

export function liveDoer(ports: MacroPorts, running: Running, call: Doer['call']): Doer {
  const { attributes, live, secrets, clock } = ports
  const now = () => (running.caller === null ? null : ports.sessionNow(running.caller))
  const isGated = () => running.caller !== null && now()?.isElevated !== true
  return {
    clock,
    secrets,
    isGated,
    refusal(target, verb) {
      if (!isGated()) return undefined
      const session = now()
      return session === null ? 'invalid_session' : ports.refusal(session, target, verb)
    },
    send({ target, isSupplied, verb, args }, done) {
      const order = { target, verb, args, caller: isSupplied ? now() : null }
      tell(async () => (await ports.dispatch(order)).answer, done)
    },
    readAttribute: (ref) => attributes.read(ref),
    setAttribute(ref, value, done) {
      tell(async () => {
        await attributes.set(ref, value)
        return undefined
      }, done)
    },
    readLive: (target, field) => live.read(target, field),
    onChange(listener) {
      const ends = [attributes.onChange(listener), live.onChange(listener)]
      return () => {
        for (const end of ends) end()
      }
    },
    notify(text, done) {
      const { macroId, runId, caller } = running
      tell(async () => {
        await ports.notify({ text, macroId, runId, userId: caller?.userId ?? null })
        return undefined
      }, done)
    },
    call,
  }

  /** What came of a promise, without its secrets. */
  function tell(ask: () => Promise<Json | undefined>, done: Done): void {
    const asked = async (): Promise<Answer> => {
      const answer = await ask()
      return answer === undefined ? { state: 'done' } : { state: 'done', answer: secrets.withoutSecrets(answer) }
    }
    asked().then(done, (thrown) => done(failureOf(thrown)))
  }
}

/**
 * What a macro is called with, checked, and with the defaults of its schema.
 * @throws Fault `macro_args` with what is wrong in `details.faults`
 */
export function checkedArgs(plan: MacroPlan, args: MacroArgs, mostChars: number): MacroArgs {
  if (!plan.schema) return args
  const values = withDefaults(plan.schema, args.values)
  const faults = argsFaults(plan.schema, values)
  if (faults.length > 0)
    throw new Fault('macro_args', `the args do not fit: ${faults.join('; ')}`, { details: { faults } })
  return makeArgs(values, mostChars, args)
}
