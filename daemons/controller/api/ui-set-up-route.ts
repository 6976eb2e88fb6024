/** The first account, made on the page of a controller that nobody could sign in to. */
import { Type } from 'typebox'
import { newPassword, userName } from '#kit/auth/user-name.ts'
import { Fault } from '#kit/fault.ts'
import { createReader } from '#kit/http/check.ts'
import type { Route } from '#kit/http/route.ts'
import { UNNAMED_SITE } from '../core/first-account.ts'
import type { UiSetUp } from '../core/ui-ports.ts'
import { signInAnswer } from './answers.ts'
import type { UiAnswer, UiAsk, UiGate } from './ui-gate.ts'

/** What it stands on. */
export interface UiSetUpParts {
  setUp: UiSetUp
  /** Signs in who was just made, as POST /ui/sign-in does. */
  signIn(ask: UiAsk, credentials: { username: string; password: string }): Promise<UiAnswer>
}

const readForm = createReader(
  Type.Object(
    {
      username: userName,
      password: newPassword,
      site: Type.String({
        minLength: 1,
        maxLength: 100,
        default: UNNAMED_SITE,
        description: 'where no site is named yet',
      }),
      time_zone: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+_/-]{1,64}$', description: 'IANA name' })),
    },
    { additionalProperties: false },
  ),
)

/**
 * Works once, from the building alone, and under a name or address of this box: a page elsewhere has none of them. What
 * cannot be told to be in the building is not: behind a proxy that nobody has set up here stands the whole world.
 */
export function uiSetUpRoute(gate: UiGate, { setUp, signIn }: UiSetUpParts): Route {
  return gate.open({
    method: 'POST',
    path: '/ui/setup',
    body: readForm,
    reply: signInAnswer,
    isRecordedFirst: true,
    ownHostOnly: true,
    summary: 'Makes the first account, an administrator; works once, from the building alone',
    async handle(ask) {
      if (setUp.isLost())
        throw new Fault(
          'not_first_start',
          'This controller had accounts and has lost them. Put a backup back, or make an administrator with plantroom password controller.',
        )
      if (!setUp.isNeeded())
        throw new Fault('already_set_up', 'This controller has its accounts already. Sign in instead.')
      if (!ask.from.isLocal)
        throw new Fault(
          'setup_remote',
          'The first account is made from the network of the building, not from elsewhere.',
        )
      const { username, password, site, time_zone: timeZone = null } = readForm(ask.body)
      await setUp.begin({ username, password, siteName: site.trim() || UNNAMED_SITE, timeZone })
      return signIn(ask, { username, password })
    },
  })
}
