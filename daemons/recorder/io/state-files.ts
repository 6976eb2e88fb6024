/** The files of the state folder: accounts, tokens and cameras. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type Static, Type } from 'typebox'
import { openHomes } from '#kit/auth/homes.ts'
import { hashPassword, verifyPassword } from '#kit/auth/password.ts'
import { createSignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { namedRecord, openUsersFile } from '#kit/auth/users-file.ts'
import { type Clock, systemClock } from '#kit/clock.ts'
import { loginBounds, type TokenHttpConfig } from '#kit/config/tables.ts'
import { createReader } from '#kit/http/check.ts'
import { createLog, type Log } from '#kit/log.ts'
import { createUserList, createUsers, type Users } from '#kit/pure/users.ts'
import type { KeptAccounts } from '#kit/run/daemon.ts'
import { openSeal } from '#kit/store/sealing.ts'
import { createStore } from '#kit/store/store.ts'
import {
  type AccountBook,
  type AccountList,
  type AccountRecord,
  accountPermissions,
  accountRoles,
  createAccountBook,
  firstAccount,
  isOver,
} from '../core/access/accounts.ts'
import { createTokenBook, type TokenBook, type TokenRecord } from '../core/access/tokens.ts'
import { type CameraRecord, cameraModes, outputDrivers, outputKinds } from '../core/cameras/book.ts'
import { maskList, readMasks } from '../core/cameras/masks.ts'
import { createSite, type SetupStep, type Site, type SiteRecord, setupSteps } from '../core/site.ts'
import { createStorageBook, type StorageBook, type StorageRecord } from '../core/storage/storage-book.ts'
import { openSessions } from './session-file.ts'

/** A file of a later version is refused rather than half understood. */
const VERSION = 1 as const

const strict = { additionalProperties: false }
const textOrNull = Type.Union([Type.String(), Type.Null()])
const onvifLink = Type.Object(
  {
    ...{ service: Type.String(), recordToken: Type.String(), watchToken: textOrNull },
    fps: Type.Union([Type.Number(), Type.Null()]),
    // Files of before it was there lack it.
    isHashed: Type.Optional(Type.Boolean()),
  },
  strict,
)
const foundOutputs = Type.Object(
  {
    ...{ probedAt: Type.Integer(), notes: textOrNull },
    list: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          kind: Type.Enum([...outputKinds]),
          name: Type.String(),
          driver: Type.Enum([...outputDrivers]),
        },
        strict,
      ),
    ),
  },
  strict,
)
const camerasFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    cameras: Type.Array(
      Type.Object(
        {
          // Names a folder of footage.
          id: Type.String({ pattern: '^[0-9a-f]{8}$' }),
          name: Type.String(),
          enabled: Type.Boolean(),
          url: Type.String(),
          // Files of before there was one lack it, as the next one.
          subUrl: Type.Optional(textOrNull),
          onvif: Type.Optional(Type.Union([onvifLink, Type.Null()])),
          username: textOrNull,
          sealedPassword: textOrNull,
          // Files of before they were there lack these.
          mode: Type.Optional(Type.Enum([...cameraModes])),
          audio: Type.Optional(Type.Boolean()),
          transport: Type.Optional(Type.Enum(['tcp', 'udp'])),
          masks: Type.Optional(maskList),
          cameraEvents: Type.Optional(Type.Boolean()),
          outputs: Type.Optional(Type.Union([foundOutputs, Type.Null()])),
          talkback: Type.Optional(
            Type.Union([
              Type.Object(
                {
                  probedAt: Type.Integer(),
                  codec: Type.Union([Type.Enum(['PCMU', 'PCMA']), Type.Null()]),
                  reason: textOrNull,
                },
                strict,
              ),
              Type.Null(),
            ]),
          ),
        },
        strict,
      ),
    ),
  },
  strict,
)

type SavedCamera = Static<typeof camerasFile>['cameras'][number]

/**
 * The saved cameras, and saving them. A password that does not open is as good as none: the others are to be recorded.
 * @param folder the state folder
 */
export async function openCameras(folder: string, log: Log) {
  const seal = await openSeal(folder)
  // Bound to where it is sent: a file with another address in it does not open.
  const boundTo = ({ id, onvif, subUrl, url }: Pick<CameraRecord, 'id' | 'onvif' | 'subUrl' | 'url'>) =>
    ['camera', id, url, subUrl, onvif?.service].filter((part) => part != null).join(' ')

  function opened({ sealedPassword, ...saved }: SavedCamera): CameraRecord {
    const { audio = true, masks = [], mode = 'record', onvif = null, subUrl = null, transport = 'tcp' } = saved
    const { cameraEvents = false, outputs = null, talkback = null } = saved
    const own = { audio, masks: readMasks(masks), mode, onvif, subUrl, transport, cameraEvents, outputs, talkback }
    const record = { ...saved, ...own }
    try {
      const password = sealedPassword === null ? null : seal.open(sealedPassword, boundTo(record))
      return { ...record, password }
    } catch (fault) {
      log.error('the password of a camera does not open: give it anew', { camera: record.name, fault })
      return { ...record, password: null }
    }
  }

  function sealed({ masks, outputs, password, ...record }: CameraRecord): SavedCamera {
    return {
      ...record,
      outputs: outputs && { ...outputs, list: outputs.list.map((one) => ({ ...one })) },
      masks: masks.map((mask) => mask.map((point) => [...point])),
      sealedPassword: password === null ? null : seal.close(password, boundTo(record)),
    }
  }

  const initial = () => ({ version: VERSION, cameras: [] as SavedCamera[] })
  const store = createStore({ folder, name: 'cameras', log, check: createReader(camerasFile), initial })
  const { cameras: saved } = await store.load()
  const save = (cameras: CameraRecord[]) => store.save({ version: VERSION, cameras: cameras.map(sealed) })
  return { records: saved.map(opened), save }
}

const folderText = Type.String({ maxLength: 1024 })
const numberOrNull = Type.Union([Type.Integer(), Type.Null()])
const storageFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    folders: Type.Union([Type.Array(Type.Object({ folder: folderText, isOwn: Type.Boolean() }, strict)), Type.Null()]),
    known: Type.Array(Type.Object({ folder: folderText, id: Type.String() }, strict)),
    ...{ keepDays: numberOrNull, keepBytes: numberOrNull, freeBytes: numberOrNull },
    keepDaysOf: Type.Record(Type.String(), Type.Integer()),
    preserved: Type.Array(
      Type.Object(
        {
          ...{ id: Type.String(), camera: Type.String(), from: Type.Integer(), to: Type.Integer() },
          ...{ note: textOrNull, by: Type.String(), at: Type.Integer() },
        },
        strict,
      ),
    ),
  },
  strict,
)

/** What was said of storage. @param folder the state folder */
export async function openStorage(
  { folder, log }: { folder: string; log: Log },
  parts: Pick<Parameters<typeof createStorageBook>[0], 'settings' | 'mostPreserved' | 'mostOfAccount'>,
): Promise<StorageBook> {
  const none = {
    folders: null,
    known: [],
    keepDays: null,
    keepBytes: null,
    freeBytes: null,
    keepDaysOf: {},
    preserved: [],
  }
  const initial = (): Static<typeof storageFile> => ({ version: VERSION, ...none })
  const store = createStore({ folder, name: 'storage', log, check: createReader(storageFile), initial })
  const { version: _, ...record } = await store.load()
  // Lists that nobody changes in place.
  const save = (next: StorageRecord) => store.save({ version: VERSION, ...(next as typeof record) })
  return createStorageBook({ ...parts, record, save, newId })
}

const siteFile = Type.Object(
  {
    ...{ version: Type.Literal(VERSION), id: Type.String(), name: textOrNull },
    step: Type.Enum([...setupSteps]),
  },
  strict,
)

/** The saved site; one without a file gets its id now, and counts as set up. @param folder the state folder */
export async function openSite(folder: string, log: Log): Promise<Site> {
  const initial = () => ({ version: VERSION, id: randomUUID(), name: null, step: 'complete' as SetupStep })
  const store = createStore({ folder, name: 'site', log, check: createReader(siteFile), initial })
  const { version: _, ...record } = await store.load()
  const save = (next: SiteRecord) => store.save({ version: VERSION, ...next })
  await save(record)
  return createSite({ record, save, machineName: hostname })
}

/** Of each account. */
const accountRecord = Type.Object(
  {
    ...namedRecord,
    id: Type.String(),
    role: Type.Enum([...accountRoles]),
    cameras: Type.Union([Type.Literal('all'), Type.Array(Type.String())]),
    permissions: Type.Array(Type.Enum([...accountPermissions])),
    expiresAt: Type.Union([Type.Integer(), Type.Null()]),
    isInstaller: Type.Boolean(),
  },
  strict,
)

function accountsFile(folder: string, log: Log, gone: 'damage' | 'new') {
  return openUsersFile({ folder, log, gone, record: accountRecord })
}

/** The accounts of this recorder. */
interface People {
  list: AccountList
  users: Users<AccountRecord>
  accounts: AccountBook
  tokens: TokenBook
  sessions: Awaited<ReturnType<typeof openSessions>>
}

interface PeopleParts {
  clock: Clock
  log: Log
  stateFolder: string
  /** The keys of this table that concern sign-ins. */
  http: TokenHttpConfig
  limits: { accounts: number; tokens: number }
}

/** @throws Fault `store_damaged` if users.json, tokens.json or homes.json cannot be read, nor its backup */
export async function openPeople({ clock, http, limits, log, stateFolder }: PeopleParts): Promise<People> {
  const store = accountsFile(stateFolder, log, 'damage')
  const saved: AccountRecord[] = (await store.load()).users
  const list = createUserList(saved, (users) => store.save({ version: VERSION, users: users as Saved[] }))
  const homes = await openHomes({ folder: stateFolder, clock, log, most: http.login_homes })
  const limiter = createSignInLimiter({ clock, homes, bounds: loginBounds(http) })
  const hash = (text: string) => limiter.within(() => hashPassword(text))
  const users = createUsers<AccountRecord>({
    ...{ limiter, passwords: { hash, verify: verifyPassword } },
    // An account that has ended is as unknown as one that never was.
    list: { ...list, find: (name) => [list.find(name)].find((one) => one && !isOver(one, clock.epochMs())) },
    makeFirst: (of) => firstAccount(of, { id: newId(), createdAt: clock.epochMs() }),
  })
  const tokens = await openTokens({ clock, folder: stateFolder, log, most: limits.tokens })
  const accounts = createAccountBook({
    ...{ clock, list, hash, newId, isRight: users.isRight, most: limits.accounts },
    onRemoved: (id) => tokens.revokeOf(id),
  })
  const sessions = await openSessions({ clock, folder: stateFolder, log, max: http.max_tokens })
  return { list, users, accounts, tokens, sessions }
}

type Saved = Static<typeof accountRecord>

/** Names an account, a camera, a token: 32 random bits as hex digits. */
export function newId(): string {
  return randomBytes(4).toString('hex')
}

const tokensFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    tokens: Type.Array(
      Type.Object(
        {
          ...{ id: Type.String(), name: Type.String(), accountId: Type.String(), hash: Type.String() },
          ...{ createdAt: Type.Integer(), expiresAt: Type.Union([Type.Integer(), Type.Null()]) },
          isReadOnly: Type.Boolean(),
        },
        strict,
      ),
    ),
  },
  strict,
)

async function openTokens({ clock, folder, log, most }: { clock: Clock; folder: string; log: Log; most: number }) {
  const initial = () => ({ version: VERSION, tokens: [] as TokenRecord[] })
  const store = createStore({ folder, name: 'tokens', log, check: createReader(tokensFile), initial })
  const { tokens: records } = await store.load()
  return createTokenBook({
    ...{ clock, records, most },
    save: (tokens) => store.save({ version: VERSION, tokens }),
    make() {
      const text = `prc_${letters(randomBytes(32))}`
      return { id: newId(), text, hash: digest(text) }
    },
  })
}

const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 32 bytes as 43 letters and digits. */
function letters(bytes: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  return Array.from({ length: 43 }, () => {
    const letter = BASE_62[Number(rest % 62n)]
    rest /= 62n
    return letter
  }).join('')
}

/** SHA-256: enough for what is random, unlike a password. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** For `plantroom password`. */
export async function keptAccounts(folder: string): Promise<KeptAccounts> {
  const file = accountsFile(folder, createLog({ level: 'warning' }), 'new')
  const { users } = await file.load()
  return {
    usernames: users.map(({ username }) => username),
    async setPassword(username, text) {
      const passwordHash = await hashPassword(text)
      const facts = { id: newId(), createdAt: systemClock.epochMs() }
      const next: AccountRecord[] =
        users.length === 0
          ? [firstAccount({ username, passwordHash }, facts)]
          : users.map((one) => (one.username === username ? { ...one, passwordHash } : one))
      await file.save({ version: VERSION, users: next as Saved[] })
    },
    close: async () => {},
  }
}
