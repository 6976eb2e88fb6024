/** Users and API keys: the calls. */
import { call } from '#kit/web/call.ts'
import type { KeyView } from '../core/people/keys.ts'
import type { UserView } from '../core/people/users.ts'

/** One who may sign in. */
export interface User extends UserView {
  isYou: boolean
}

/** What makes a key. */
export interface KeyBody {
  name: string
  role: string
  ports?: string[]
  expiresAt?: number
}

function user(name: string): `/${string}` {
  return `/api/users/${encodeURIComponent(name)}`
}

/** The calls. */
export const usersApi = {
  users: () => call<User[]>('GET /api/users'),
  addUser: (body: object) => call<User>('POST /api/users', body),
  changeUser: (name: string, body: object) => call<User>(`PATCH ${user(name)}`, body),
  removeUser: (name: string) => call<void>(`DELETE ${user(name)}`),
  /** Ends every sign-in of this user; the answer is a new one. */
  changePassword: (body: { current: string; password: string }) =>
    call<{ token: string }>('POST /api/me/password', body),
  keys: () => call<KeyView[]>('GET /api/keys'),
  addKey: (body: KeyBody) => call<KeyView & { key: string }>('POST /api/keys', body),
  removeKey: (id: string) => call<void>(`DELETE /api/keys/${encodeURIComponent(id)}`),
}
