/** Users, API keys and the journal: what the gateway answers, and the calls. */
import { call } from '#kit/web/call.ts'

/** One who may sign in. */
export interface User {
  username: string
  role: Role
  createdAt: number
  isLastAdmin: boolean
  isYou: boolean
}

export type Role = 'admin' | 'viewer'

/** A key with which another system calls, sent as bearer. */
export interface ApiKey {
  id: string
  name: string
  role: Role
  /** Device paths; null: every line. */
  ports: string[] | null
  createdAt: number
  createdBy: string
  expiresAt: number | null
  lastUsedAt: number | null
  state: 'live' | 'expired'
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
  removeUser: (name: string) => call<object>(`DELETE ${user(name)}`),
  /** Ends every sign-in of this user; the answer is a new one. */
  changePassword: (body: { current: string; password: string }) =>
    call<{ token: string }>('POST /api/me/password', body),
  keys: () => call<ApiKey[]>('GET /api/keys'),
  addKey: (body: KeyBody) => call<ApiKey & { key: string }>('POST /api/keys', body),
  removeKey: (id: string) => call<object>(`DELETE /api/keys/${encodeURIComponent(id)}`),
}
