/** `plantroom password`: sets a user's password, for people who are locked out and have access to the machine. */
import { resolve } from 'node:path'
import { Value } from 'typebox/value'
import { newBasicPassword, newPassword, userName } from '#kit/auth/credentials.ts'
import { hashPassword } from '#kit/auth/password.ts'
import { createUsersFile, type UsersFile } from '#kit/auth/users-file.ts'
import { type Clock, systemClock } from '#kit/clock.ts'
import { createLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import { createJournal } from '#kit/records/journal.ts'
import { configFileOf, exitCodes, stateFolderOf } from '#kit/run/arguments.ts'
import type { KeptAccounts } from '#kit/run/daemon.ts'
import { lockState } from '#kit/run/state-folder.ts'
import { makeFolder } from '#kit/store/store.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { loadDaemon, requireDaemon } from './daemons.ts'

const form = 'password DAEMON [--state DIR] [--user NAME]'

/** The same rule as the API's for new names. */
const isUserName = (text: string) => Value.Check(userName, text)

/** Most names listed in a sentence. */
const MOST_NAMES = 20

/** This only appends to the journal; its daemon trims it to the length in its settings. */
const JOURNAL_ENTRIES = 1_000_000

/** Sets a password while the daemon is stopped, since a running daemon keeps its users in memory. */
export const password: Command = {
  name: 'password',
  summary: 'give a user a new password while the daemon is stopped',
  help: `plantroom ${form}

Reads a new password from the terminal without echo, or one line from standard input, and writes it to the state of
DAEMON. Without --user it is for the only user there is; where there is none, NAME (or admin) becomes the administrator.
  --state DIR    default /var/lib/plantroom/<daemon>
Exit codes: 0 changed, 1 the state cannot be written or the daemon runs, 2 wrong usage or password.
`,
  stateUse(argv, world) {
    const { name, folder } = read(argv, world)
    return { daemon: name, folder, makes: true, reads: [configFileOf(name, world.env)] }
  },
  async run(argv, world) {
    const { name, folder, user } = read(argv, world)
    const { onlyUser, openAccounts = openUsersFile } = await loadDaemon(world.daemonsFolder, name)
    if (onlyUser !== undefined && user !== undefined && user !== onlyUser)
      throw new Fault('bad_usage', `the only user of ${name} is ${onlyUser}`)
    await makeFolder(folder)
    const lock = lockState(folder)
    try {
      const rule = onlyUser === undefined ? newPassword : newBasicPassword
      const username = await setPassword(await openAccounts(folder), user, rule, world)
      const log = createLog({ level: 'warning' })
      const journal = createJournal({
        folder,
        clock: systemClock,
        log,
        maxEntries: JOURNAL_ENTRIES,
        maxChars: Number.POSITIVE_INFINITY,
      })
      journal.record({ who: 'plantroom', from: 'console', what: 'password changed', target: username })
      await journal.close()
      world.out(`${username} of ${name} has a new password.\n`)
      return exitCodes.fine
    } finally {
      lock.release()
    }
  },
}

function read(argv: readonly string[], world: World) {
  const { values, positionals } = parseCommand(argv, { state: { type: 'string' }, user: { type: 'string' } })
  requireWords(positionals, 1, 1, form)
  const [name = ''] = positionals
  requireDaemon(world.daemonsFolder, name)
  return { name, folder: resolve(values.state ?? stateFolderOf({ name, env: world.env })), user: values.user }
}

/** @returns the user who has it now */
async function setPassword(
  accounts: KeptAccounts,
  wanted: string | undefined,
  rule: PasswordRule,
  world: World,
): Promise<string> {
  try {
    const username = usernameOf(accounts.usernames, wanted)
    await accounts.setPassword(username, checked(await world.readPassword(`New password for ${username}`), rule))
    return username
  } finally {
    await accounts.close()
  }
}

function usernameOf(names: readonly string[], wanted: string | undefined): string {
  if (names.length === 0) {
    if (wanted !== undefined && !isUserName(wanted))
      throw new Fault(
        'bad_usage',
        `${JSON.stringify(wanted)} is not a user name; expected Latin letters and digits, single . _ - @ + or blanks between`,
      )
    return wanted ?? 'admin'
  }
  if (wanted === undefined && names.length === 1) return names[0] ?? ''
  if (wanted === undefined) throw new Fault('bad_usage', `say which user with --user; there are: ${listOf(names)}`)
  if (!names.includes(wanted))
    throw new Fault('bad_usage', `there is no user ${JSON.stringify(wanted)}; there are: ${listOf(names)}`)
  return wanted
}

function listOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMES
  return names.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** Used by most daemons: users.json. */
async function openUsersFile(folder: string): Promise<KeptAccounts> {
  const file = createUsersFile(folder, createLog({ level: 'warning' }), 'new')
  const users = await file.load()
  return {
    usernames: users.users.map(({ username }) => username),
    setPassword: async (username, text) =>
      file.save(withPassword(users, username, await hashPassword(text), systemClock)),
    close: async () => {},
  }
}

type PasswordRule = typeof newPassword | typeof newBasicPassword

/** The message never contains the password. */
function checked(text: string, rule: PasswordRule): string {
  if (Value.Check(rule, text)) return text
  const length = [...text].length
  const { minLength: least = 0, maxLength: most = length } = rule as { minLength?: number; maxLength?: number }
  if (length >= least && length <= most)
    throw new Fault('bad_usage', 'the password holds a control character, which no browser can send; type it anew')
  throw new Fault('bad_usage', `the password has ${counted(length, 'character')}, expected ${least} to ${most}`)
}

function withPassword(file: UsersFile, username: string, passwordHash: string, clock: Clock): UsersFile {
  if (file.users.length === 0)
    return { ...file, users: [{ username, role: 'admin', passwordHash, createdAt: clock.epochMs() }] }
  return { ...file, users: file.users.map((user) => (user.username === username ? { ...user, passwordHash } : user)) }
}
