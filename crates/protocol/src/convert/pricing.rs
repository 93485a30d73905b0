//! Prices of resources.

use slipway_resource::provider::{MonthlyPrice, PriceReport, ResourcePrice};

use super::{Malformed, address};
use crate::generated as proto;
use crate::generated::monthly_price::Price;

impl From<PriceReport> for proto::PriceResponse {
    fn from(report: PriceReport) -> Self {
        Self { list: report.list, prices: report.prices.into_iter().map(Into::into).collect(), error: None }
    }
}

impl TryFrom<proto::PriceResponse> for PriceReport {
    type Error = Malformed;

    fn try_from(message: proto::PriceResponse) -> Result<Self, Malformed> {
        let prices = message.prices.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?;
        Ok(Self { list: message.list, prices })
    }
}

impl From<ResourcePrice> for proto::ResourcePrice {
    fn from(price: ResourcePrice) -> Self {
        Self {
            address: price.address.to_string(),
            before: price.before.map(Into::into),
            after: price.after.map(Into::into),
        }
    }
}

impl TryFrom<proto::ResourcePrice> for ResourcePrice {
    type Error = Malformed;

    fn try_from(message: proto::ResourcePrice) -> Result<Self, Malformed> {
        Ok(Self {
            address: address(&message.address)?,
            before: message.before.map(TryInto::try_into).transpose()?,
            after: message.after.map(TryInto::try_into).transpose()?,
        })
    }
}

impl From<MonthlyPrice> for proto::MonthlyPrice {
    fn from(price: MonthlyPrice) -> Self {
        let price = match price {
            MonthlyPrice::Known(millis) => Price::KnownMillis(millis),
            MonthlyPrice::Unknown(why) => Price::Unknown(why),
        };
        Self { price: Some(price) }
    }
}

impl TryFrom<proto::MonthlyPrice> for MonthlyPrice {
    type Error = Malformed;

    fn try_from(message: proto::MonthlyPrice) -> Result<Self, Malformed> {
        match message.price {
            Some(Price::KnownMillis(millis)) => Ok(Self::Known(millis)),
            Some(Price::Unknown(why)) => Ok(Self::Unknown(why)),
            None => Err(Malformed::missing("price")),
        }
    }
}
