/** The rules of document 1, put together of their parts. */
import { answerData } from '../core/data/answer-data.ts'
import type { LiveState } from '../core/live-book.ts'
import type { People } from '../core/people.ts'
import type { OriginOf } from '../core/remoteness.ts'
import type { Rules } from '../core/rules.ts'
import { settingOf } from '../core/settings.ts'
import { type Control, openControl } from './control.ts'
import { openData } from './data.ts'
import { type Changed, createChanged, type House } from './house.ts'
import { openPeople } from './people.ts'

/** What the rules are for the rest of the daemon. */
export interface Brought {
  rules: Rules
  /** The switch of the REST surface, as it is at this start. @source document 1, What the service does */
  isRestEnabled: boolean
  people: People
  originOf: OriginOf
  control: Control
  live: LiveState
  changed: Changed
}

export async function openRules(house: House): Promise<Brought> {
  const changed = createChanged()
  const { people, originOf } = await openPeople(house)
  const control = openControl(house, changed)
  const data = openData(house, control.live)
  const rules: Rules = {
    origin: originOf,
    signIn: people.signIn,
    resolve: people.resolve,
    logout: people.logout,
    me: people.me,
    handoff: people.handoff,
    command: control.command,
    runMacro: control.runMacro,
    answerData: (session, entity, rawQuery) => answerData(data, session, entity, rawQuery),
  }
  const isRestEnabled = settingOf(house.site.book).rest_api_enabled
  return { rules, isRestEnabled, people, originOf, control, live: control.live, changed }
}
