//! Values as they are bound to statements. Each knows its type, so that a statement needs no round trip to be described.

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

/// A value that a statement is executed with.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    Int(Option<i64>),
    Flag(bool),
    Text(Option<String>),
    Id(Option<Uuid>),
    Bytes(Vec<u8>),
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Ids(Vec<Option<Uuid>>),
    Blobs(Vec<Option<Vec<u8>>>),
}

impl Bound {
    pub(super) fn kind(&self) -> Type {
        match self {
            Self::Int(_) => Type::INT8,
            Self::Flag(_) => Type::BOOL,
            Self::Text(_) => Type::TEXT,
            Self::Id(_) => Type::UUID,
            Self::Bytes(_) => Type::BYTEA,
            Self::Ints(_) => Type::INT8_ARRAY,
            Self::Texts(_) => Type::TEXT_ARRAY,
            Self::Ids(_) => Type::UUID_ARRAY,
            Self::Blobs(_) => Type::BYTEA_ARRAY,
        }
    }
}

impl ToSql for Bound {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Int(value) => value.to_sql(kind, out),
            Self::Flag(value) => value.to_sql(kind, out),
            Self::Text(value) => value.to_sql(kind, out),
            Self::Id(value) => value.to_sql(kind, out),
            Self::Bytes(value) => value.to_sql(kind, out),
            Self::Ints(values) => values.to_sql(kind, out),
            Self::Texts(values) => values.to_sql(kind, out),
            Self::Ids(values) => values.to_sql(kind, out),
            Self::Blobs(values) => values.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // It is declared with the statement.
        true
    }

    to_sql_checked!();
}

macro_rules! bound_from {
    ($($kind:ty => |$value:ident| $bound:expr),* $(,)?) => {
        $(impl From<$kind> for Bound {
            fn from($value: $kind) -> Self {
                $bound
            }
        })*
    };
}

bound_from! {
    i64 => |value| Self::Int(Some(value)),
    u32 => |value| Self::Int(Some(value.into())),
    Option<i64> => |value| Self::Int(value),
    bool => |value| Self::Flag(value),
    &str => |value| Self::Text(Some(value.to_owned())),
    String => |value| Self::Text(Some(value)),
    &String => |value| Self::Text(Some(value.clone())),
    Option<String> => |value| Self::Text(value),
    Option<&str> => |value| Self::Text(value.map(str::to_owned)),
    Uuid => |value| Self::Id(Some(value)),
    Option<Uuid> => |value| Self::Id(value),
    Vec<u8> => |value| Self::Bytes(value),
    Vec<i64> => |values| Self::Ints(values.into_iter().map(Some).collect()),
    Vec<Option<i64>> => |values| Self::Ints(values),
    Vec<String> => |values| Self::Texts(values.into_iter().map(Some).collect()),
    Vec<Option<String>> => |values| Self::Texts(values),
    Vec<Uuid> => |values| Self::Ids(values.into_iter().map(Some).collect()),
    ibid_core::RunId => |id| Self::Id(Some(Uuid::from_bytes(*id.as_bytes()))),
    ibid_core::ThreadId => |id| Self::Id(Some(Uuid::from_bytes(*id.as_bytes()))),
    &ibid_core::Tenant => |tenant| Self::Text(Some(tenant.as_str().to_owned())),
}

/// Values for a statement, in the order of its parameters.
macro_rules! bind {
    ($($value:expr),* $(,)?) => {
        &[$($crate::postgres::bound::Bound::from($value)),*]
    };
}
pub(super) use bind;
