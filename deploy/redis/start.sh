#!/bin/sh
# Start Redis with its password from the environment: in a file of its own memory, never in argv.
set -eu
umask 077
{
  cat /etc/skillopt/redis.conf
  printf 'requirepass %s\n' "${REDIS_PASSWORD:?}"
} > /run/redis/redis.conf
unset REDIS_PASSWORD REDISCLI_AUTH
exec redis-server /run/redis/redis.conf
