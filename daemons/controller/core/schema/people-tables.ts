/** Tables of people: who may sign in, with which roles, at which sites. */
import { flag, integer, label, owner, secret, table, text, time } from './column.ts'

export const peopleTables = [
  table('auth_role', [
    label(),
    flag('elevated', false),
    // Off is the exception that somebody sets: a role that says nothing keeps nobody out.
    flag('allow_remote', true),
    flag('skip_2fa_local', false),
    text('rules', { isRequired: true, default: '' }),
    integer('session_timeout_min', { minimum: 1 }),
  ]),
  table(
    'auth_user',
    [
      label('username', { isUnique: true, isNoCase: true }),
      text('full_name'),
      text('email'),
      secret('hash'),
      secret('salt'),
      secret('pin'),
      secret('rfid'),
      secret('duress_pin'),
      flag('enabled', true),
      time('revoked_at'),
      time('valid_from'),
      time('valid_until'),
      flag('two_factor_auth', false),
      text('two_factor_token', { isSecret: true, isInner: true }),
      time('two_factor_issued_at', { isInner: true }),
      flag('must_change_password', false),
      secret('push_subscription'),
      text('language'),
    ],
    { label: 'username' },
  ),
  table('auth_user_role', [owner('user_id', 'auth_user'), owner('role_id', 'auth_role')], {
    key: ['user_id', 'role_id'],
    uniqueTogether: ['user_id', 'role_id'],
  }),
  table('auth_user_site', [owner('user_id', 'auth_user'), owner('site_id', 'site')], {
    key: ['user_id', 'site_id'],
    uniqueTogether: ['user_id', 'site_id'],
  }),
]
